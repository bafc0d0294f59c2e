"""Masked texts with their originals beside them: batches for telling replaced tokens from true ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from burnish.spec.values import Draw, Outcome, RowFault, Rows
from burnish.tasks.masked_encoder import MaskedEncoder

if TYPE_CHECKING:
    from burnish.spec.values import Array, Batch


@dataclass(frozen=True)
class ReplacedEncoder:
    """Encode as a masked language model does, and keep what stood there."""

    masked: MaskedEncoder

    @property
    def key(self) -> Mapping[str, object]:
        """All that shapes the features."""
        return self.masked.key

    def faults(self, rows: Rows) -> list[RowFault]:
        """List rows that hold the mask token."""
        return self.masked.faults(rows)

    def encode(self, table: pa.Table) -> pa.Table:
        """Give blocks."""
        return self.masked.encode(table)

    def collate(self, features: pa.Table, indices: Array, draw: Draw) -> Batch:
        """Hide tokens, and say what they were and which places count."""
        batch = dict(self.masked.collate(features, indices, draw))
        if "label" not in batch:
            return batch
        original = np.where(batch["scored"], batch["label"], batch["input_ids"])
        return {**batch, "original": original, "attended": batch["attention_mask"]}

    def put_into_words(self, outcome: Outcome) -> Outcome:
        """Write guessed ids as tokens."""
        return self.masked.put_into_words(outcome)
