"""Batches that belong to one group of several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.spec.protocols import Encoder, NotesDefaults, PutsIntoWords
from burnish.spec.values import Batch, Outcome, RandomKey, RowFault, Rows


@dataclass(frozen=True)
class Grouped:
    """Encode as another encoder does, and say in every batch which group it belongs to."""

    encoder: Encoder
    group: int

    @property
    def key(self) -> Mapping[str, object]:
        """All that shapes the features, which are those of the encoder alone."""
        return self.encoder.key

    def faults(self, rows: Rows) -> Sequence[RowFault]:
        """List the rows that cannot be used."""
        return self.encoder.faults(rows)

    def encode(self, table: pa.Table) -> pa.Table:
        """Give the features of the encoder alone."""
        return self.encoder.encode(table)

    def collate(self, features: pa.Table, indices: np.ndarray[Any, Any], draw: RandomKey) -> "Batch":
        """Build a batch with `group`, the same number for every row."""
        batch = self.encoder.collate(features, indices, draw)
        return {**batch, "group": np.full(len(indices), self.group)}

    def put_into_words(self, outcome: Outcome) -> Outcome:
        """Write ids in the answers as words, where the encoder does so."""
        return self.encoder.put_into_words(outcome) if isinstance(self.encoder, PutsIntoWords) else outcome

    def notes(self, rows: Rows) -> Sequence[str]:
        """Say what is used for what rows lack, where the encoder does so."""
        return self.encoder.notes(rows) if isinstance(self.encoder, NotesDefaults) else ()
