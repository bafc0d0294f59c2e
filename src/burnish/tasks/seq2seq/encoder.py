"""Pairs of texts, one to read and one to write, as features and batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.batching.padding import Padding, Template, learn_template, pad
from burnish.data.batching.ragged import Ragged, gather, view
from burnish.data.tokens.text import TextCodec, id_limits, refuse_length
from burnish.data.tokens.tokens import TextAssets, tokenize
from burnish.data.truncation import Head
from burnish.spec.values import Array, Batch, FeatureLimit, Outcome, RandomKey, RowFault, Rows
from burnish.tasks.labels import refuse_other_than_text
from burnish.tasks.seq2seq.decoder import in_words
from burnish.tasks.sequences import SequenceEncoder, find_empty_texts

if TYPE_CHECKING:
    from burnish.tasks.seq2seq.task import Seq2Seq

VERSION = 1
"""Goes up whenever the same row would give other features."""
_IGNORED = -100
_TARGET = "target"


@dataclass(frozen=True)
class Seq2SeqEncoder(SequenceEncoder):
    """Encodes a source and, where it is known, its target, each with the special tokens of a text by itself."""

    target: str
    prefix: str
    max_target: int

    @classmethod
    def build(cls, assets: TextAssets, task: Seq2Seq) -> Seq2SeqEncoder:
        """Put a tokenizer and a task's options together; refuse limits that leave no room."""
        codec = TextCodec(assets, (task.source,), None, task.max_length, Head())
        refuse_length(assets, codec.template, task.max_target_length, num_tokens=1, option="max_target_length")
        return cls(codec, task.target, task.prefix, task.max_target_length)

    @property
    def key(self) -> Mapping[str, object]:
        own = {"target": self.target, "prefix": self.prefix, "max_target": self.max_target, "seq2seq": VERSION}
        return {**self.codec.key, **own}

    def faults(self, rows: Rows) -> list[RowFault]:
        columns = [name for name in (*self.codec.text, self.target) if name in rows.table.column_names]
        refuse_other_than_text(rows.table, columns)
        return [fault for name in columns for fault in find_empty_texts(rows.table, name)]

    def sequences(self, table: pa.Table) -> pa.Table:
        (source,) = self.codec.text
        refuse_other_than_text(table, [source])
        large = pa.large_string()
        texts = pc.binary_join_element_wise(
            pa.scalar(self.prefix, large), table[source].cast(large), pa.scalar("", large)
        )
        features = self.codec.encode(pa.table({source: texts}))
        if self.target not in table.column_names:
            return features
        whole = view(tokenize(table[self.target], self.codec.assets.target_tokenizer))
        kept = Ragged(whole.values, whole.starts, np.minimum(whole.lengths, self._room)).packed()
        lengths = pa.array(self._lengths(features["length"].to_numpy(), kept), pa.int32())
        at = features.column_names.index("length")
        return features.set_column(at, "length", lengths).append_column(_TARGET, kept.to_arrow())

    def finish(self, batch: dict[str, Array], features: pa.Table, indices: Array, draw: RandomKey) -> Batch:
        if _TARGET not in features.column_names:
            return batch
        padding = Padding(self.codec.assets.pad_id, None, multiple=self.codec.assets.multiple)
        targets = pad([gather(features[_TARGET], indices)], self._template, padding)
        ids, is_token = targets["input_ids"], targets["attention_mask"].astype(bool)
        if not draw.is_training:
            return {**batch, "target_ids": ids, "target_mask": is_token}
        return {**batch, "target_ids": ids, "scored": is_token, "label": np.where(is_token, ids, _IGNORED)}

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterator[FeatureLimit]:
        yield from self.codec.limits(features)
        length = self.codec.length_limit(features).high
        if _TARGET in features.column_names:
            targets = view(features[_TARGET].chunk(0))
            yield from id_limits([(_TARGET, targets)], self.codec.assets)
            yield FeatureLimit(f"number of tokens in {_TARGET}", targets.lengths, 0, self._room)
            length = self._lengths(np.asarray(length), targets)
        yield FeatureLimit("length", features["length"].to_numpy(), length, length)

    def put_into_words(self, outcome: Outcome) -> Outcome:
        return in_words(outcome, self.codec.assets.target_tokenizer)

    @cached_property
    def _template(self) -> Template:
        return learn_template(self.codec.assets.target_tokenizer, num_texts=1)

    @property
    def _room(self) -> int:
        return self.max_target - self._template.num_special

    def _lengths(self, sources: Array, targets: Ragged) -> Array:
        """Count both texts: what a batch takes is decided by their sum."""
        return np.asarray(sources + targets.lengths + self._template.num_special)
