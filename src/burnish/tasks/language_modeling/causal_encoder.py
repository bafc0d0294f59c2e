"""Blocks of text of which each token is to be guessed from those before it: features and batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from burnish.data.batching.ragged import pack, positions
from burnish.spec.values import Array, Batch, Outcome, RandomKey, RowFault, Rows
from burnish.tasks.language_modeling.block_codec import IGNORED, BlockCodec
from burnish.tasks.language_modeling.decoder import in_words
from burnish.tasks.tabular.column_types import refuse_other_than_text

PROMPT = "burnish: prompt"
"""The column that marks texts to continue; no column of the data is called so."""


@dataclass(frozen=True)
class CausalEncoder:
    """Encode one text column; a table that is marked holds texts to continue."""

    codec: BlockCodec

    @property
    def key(self) -> Mapping[str, object]:
        """All that shapes the features."""
        return {**self.codec.key, "task": "causal_lm"}

    def faults(self, rows: Rows) -> list[RowFault]:
        """Find nothing wrong: a text without tokens teaches nothing and harms nothing."""
        refuse_other_than_text(rows.table, [self.codec.text])
        return []

    def encode(self, table: pa.Table) -> pa.Table:
        """Give blocks; of a text to go on with, its last tokens."""
        texts = self.codec.tokens(table)
        if PROMPT not in table.column_names:
            return self.codec.features(self.codec.cut(texts, is_packed=self.codec.is_packed))
        dropped = np.maximum(texts.lengths - self.codec.room, 0)
        kept = texts.lengths - dropped
        last = pack(texts.values[positions(texts.starts + dropped, kept)], kept)
        features = self.codec.features(self.codec.cut(last, is_packed=False))
        return features.append_column(PROMPT, pa.array(np.ones(features.num_rows, dtype=bool)))

    def collate(self, features: pa.Table, indices: Array, draw: RandomKey) -> Batch:
        """Score every place that has a token after it; of a text to go on with, the last place."""
        batch, layout = self.codec.pad(self.codec.gather(features, indices, draw))
        attended = batch["attention_mask"].astype(bool)
        places = {} if draw.is_training else self.codec.places(features, indices, layout)
        if PROMPT in features.column_names:
            last = np.cumsum(attended[:, ::-1], axis=1)[:, ::-1] == 1
            return {**batch, "scored": last & attended, **places}
        scored = attended & _next(attended, fill=False)
        label = np.where(scored, _next(batch["input_ids"], fill=IGNORED), IGNORED)
        # A place answers for the token after it, so it counts for the row of that one.
        moved = {name: _next(at, fill=0) if name.startswith("at_") else at for name, at in places.items()}
        return {**batch, "scored": scored, "label": label, **moved}

    def put_into_words(self, outcome: Outcome) -> Outcome:
        """Write guessed ids as tokens."""
        return in_words(outcome, self.codec.vocabulary.assets.tokenizer)


def _next(values: Array, *, fill: int | bool) -> Array:
    return np.concatenate([values[:, 1:], np.full((len(values), 1), fill, dtype=values.dtype)], axis=1)
