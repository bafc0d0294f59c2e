"""Two stretches of text with hidden tokens, in their order or not: features and batches of BERT's pre-training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa

from burnish.data.batching.padding import Template, learn_template, pad
from burnish.data.batching.ragged import Ragged, gather, pack, pick, positions, view
from burnish.data.batching.rng import uniforms
from burnish.data.tokens.packing import fill_stretches, split_sentences
from burnish.data.tokens.text import choose_padding, id_limits, refuse_length
from burnish.data.tokens.tokens import tokenize
from burnish.spec.protocols import Encoder
from burnish.spec.values import Array, Batch, FeatureLimit, RandomKey, RowFault, Rows
from burnish.tasks.labels import refuse_other_than_text
from burnish.tasks.language_modeling.block_codec import IGNORED, BlockLayout, matrix_of, valid_of
from burnish.tasks.language_modeling.encoder import MaskedEncoder

Pairing = Literal["sentence_order", "next_sentence"]
_TRIES = 4
_VERSION = 2
"""Changes when the same documents give other stretches."""
_CUT, _LOT, _OTHER_CUT, _OTHER = 0, 1, 2, 3
"""What each random number of an example decides; from the last on, each is a try to find another row."""


@dataclass(frozen=True)
class PairEncoder(Encoder):
    """Encode documents as stretches, and cut each in two anew every epoch."""

    masked: MaskedEncoder
    pairing: Pairing

    def __post_init__(self) -> None:
        codec = self.masked.codec
        refuse_length(codec.vocabulary.assets, self.template, codec.max_length, num_tokens=2)

    @property
    def key(self) -> Mapping[str, object]:
        return {**self.masked.key, "task": "pretraining", "version": _VERSION}

    @cached_property
    def template(self) -> Template:
        """The special tokens around two texts."""
        return learn_template(self.masked.codec.vocabulary.assets.tokenizer, num_texts=2)

    def faults(self, rows: Rows) -> list[RowFault]:
        return self.masked.faults(rows)

    def encode(self, table: pa.Table) -> pa.Table:
        codec = self.masked.codec
        refuse_other_than_text(table, [codec.text])
        sentences, rows = split_sentences(table[codec.text])
        tokens = view(tokenize(sentences, codec.vocabulary.assets.tokenizer))
        found = fill_stretches(tokens, rows, room=self._room)
        return pa.table(
            {
                "tokens": found.tokens.to_arrow(),
                "cuts": found.cuts.to_arrow(),
                "row": pa.array(found.rows, pa.int64()),
                "length": pa.array(found.tokens.lengths + self.template.num_special, pa.int32()),
            }
        )

    def collate(self, features: pa.Table, indices: Array, draw: RandomKey) -> Batch:
        indices = np.asarray(indices, dtype=np.int64)
        first, second, is_wrong = self.pairs(features, indices, draw)
        both = pack(np.empty(len(first.values) + len(second.values), dtype=np.int32), first.lengths + second.lengths)
        both.values[positions(both.starts, first.lengths)] = first.values
        both.values[positions(both.starts + first.lengths, second.lengths)] = second.values
        hidden, chosen = self.masked.hide(both, indices, draw)
        batch, layout = self._pad(hidden, first.lengths, second.lengths)
        scored = layout.spread(chosen, fill=False)
        truth = layout.spread(matrix_of(both), fill=IGNORED)
        batch |= {"scored": scored, "label": np.where(scored, truth, IGNORED), "pair_label": is_wrong.astype(np.int64)}
        if draw.is_training:
            return batch
        row, place = pick(features["row"], indices), np.broadcast_to(np.arange(chosen.shape[1]), chosen.shape)
        return {**batch, "row": row, "at_row": row, "at_place": layout.spread(place, fill=0)}

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterator[FeatureLimit]:
        texts, cuts = view(features["tokens"].chunk(0)), view(features["cuts"].chunk(0)).packed()
        yield from id_limits([("tokens", texts)], self.masked.codec.vocabulary.assets)
        yield FeatureLimit("number of tokens", texts.lengths, 2, self._room)
        length = texts.lengths + self.template.num_special
        yield FeatureLimit("length", features["length"].to_numpy(), length, length)
        yield FeatureLimit("number of cuts", cuts.lengths, 1, np.inf)
        yield FeatureLimit("cuts", cuts.values, 1, np.repeat(texts.lengths, cuts.lengths) - 1)

    def counts(self, features: pa.Table) -> Array:
        return self.masked.counts(features)

    def pairs(self, features: pa.Table, indices: Array, draw: RandomKey) -> tuple[Ragged, Ragged, Array]:
        """Return first texts, second texts, and which of the second do not follow their first."""
        seed, epoch = (draw.seed, draw.epoch) if draw.is_training else (0, draw.view)
        lots = uniforms(indices, _OTHER + _TRIES, seed=seed, purpose="pair", epoch=epoch)
        whole, cut = self._cut(features, indices, lots[:, _CUT])
        first = Ragged(whole.values, whole.starts, cut).packed()
        second = Ragged(whole.values, whole.starts + cut, whole.lengths - cut).packed()
        is_wrong = lots[:, _LOT] < 0.5
        if self.pairing == "sentence_order":
            return _chosen(is_wrong, second, first), _chosen(is_wrong, first, second), is_wrong
        # A stretch of another row for each example: a few tries find one unless nearly all is of one row.
        rows = pick(features["row"], indices)
        candidates = (lots[:, _OTHER:] * features.num_rows).astype(np.int64)
        fits = pick(features["row"], candidates.ravel()).reshape(candidates.shape) != rows[:, None]
        others, found = candidates[np.arange(len(rows)), fits.argmax(axis=1)], fits.any(axis=1)
        is_wrong &= found
        other, place = self._cut(features, others, lots[:, _OTHER_CUT])
        room = np.minimum(other.lengths - place, self._room - first.lengths)
        stranger = Ragged(other.values, other.starts + place, room).packed()
        return first, _chosen(is_wrong, stranger, second), is_wrong

    @property
    def _room(self) -> int:
        return self.masked.codec.max_length - self.template.num_special

    def _cut(self, features: pa.Table, indices: Array, lots: Array) -> tuple[Ragged, Array]:
        """Give stretches and the place where each is cut, drawn from those between its sentences."""
        cuts = gather(features["cuts"], indices)
        return gather(features["tokens"], indices), cuts.values[cuts.starts + (lots * cuts.lengths).astype(np.int64)]

    def _pad(self, both: Ragged, first: Array, second: Array) -> tuple[dict[str, Array], BlockLayout]:
        texts = [
            pack(both.values[positions(both.starts, first)], first),
            pack(both.values[positions(both.starts + first, second)], second),
        ]
        batch = pad(texts, self.template, choose_padding(self.masked.codec.vocabulary.assets))
        attended = batch["attention_mask"].astype(bool)
        place = np.cumsum(attended, axis=1) - 1
        begin, middle = len(self.template.pieces[0]), len(self.template.pieces[1])
        end = (begin + first)[:, None]
        is_first = (place >= begin) & (place < end)
        is_second = (place >= end + middle) & (place < end + middle + second[:, None])
        return batch, BlockLayout(attended & (is_first | is_second), valid_of(both))


def _chosen(which: Array, yes: Ragged, no: Ragged) -> Ragged:
    lengths = np.where(which, yes.lengths, no.lengths)
    values = np.concatenate([yes.values, no.values])
    starts = np.where(which, yes.starts, no.starts + len(yes.values))
    return Ragged(values, starts, lengths).packed()
