"""Texts as blocks of tokens, and blocks as padded batches: what all language models share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.batching.padding import Template, learn_template, pad
from burnish.data.batching.ragged import Ragged, gather, pick, positions, view
from burnish.data.tokens.packing import Blocks, cut_lines, cut_packed, draw_offset, find_rows, gather_moved
from burnish.data.tokens.text import choose_padding, id_limits, refuse_length
from burnish.data.tokens.tokens import Vocabulary, tokenize
from burnish.spec.values import Array, FeatureLimit, RandomKey
from burnish.tasks.labels import refuse_other_than_text

VERSION = 1
"""Goes up whenever the same text would give other features."""
IGNORED = -100
"""The label of places that are not scored."""


@dataclass(frozen=True)
class BlockLayout:
    """Where in a padded batch the tokens of the texts stand."""

    is_text: Array
    valid: Array
    """The same tokens in a matrix whose rows begin with their first token."""

    def spread(self, values: Array, *, fill: int | bool) -> Array:
        """Put values [n, longest text] where their tokens stand, and `fill` elsewhere: [n, length]."""
        laid = np.full(self.is_text.shape, fill, dtype=values.dtype)
        laid[self.is_text] = values[self.valid]
        return laid


@dataclass(frozen=True)
class BlockCodec:
    """Cut one text column into blocks, and build batches of them."""

    vocabulary: Vocabulary
    text: str
    max_length: int
    """The longest block, special tokens counted."""
    is_packed: bool
    join: str

    def __post_init__(self) -> None:
        refuse_length(self.vocabulary.assets, self.template, self.max_length, num_tokens=2)

    @property
    def key(self) -> Mapping[str, object]:
        """All that shapes the features."""
        return {
            "tokenizer": self.vocabulary.assets.digest,
            "columns": [self.text],
            "max_length": self.max_length,
            "packed": self.is_packed,
            "join": self.join,
            "blocks": VERSION,
        }

    @cached_property
    def template(self) -> Template:
        """The special tokens around a block."""
        return learn_template(self.vocabulary.assets.tokenizer, num_texts=1)

    @property
    def room(self) -> int:
        """Count the tokens of text that a block can hold."""
        return self.max_length - self.template.num_special

    def tokens(self, table: pa.Table) -> Ragged:
        """Tokenise the texts, with what stands between them when they are packed."""
        refuse_other_than_text(table, [self.text])
        column = table[self.text].cast(pa.large_string())
        if self.is_packed and self.join:
            column = pc.binary_join_element_wise(
                column, pa.scalar(self.join, pa.large_string()), pa.scalar("", pa.large_string())
            )
        return view(tokenize(column, self.vocabulary.assets.tokenizer))

    def cut(self, texts: Ragged, *, is_packed: bool) -> Blocks:
        """Cut tokens into blocks."""
        return (cut_packed if is_packed else cut_lines)(texts, room=self.room)

    def features(self, blocks: Blocks) -> pa.Table:
        """Give blocks as features: `tokens`, `turns`, `row`, `length`."""
        return pa.table(
            {
                "tokens": blocks.tokens.to_arrow(),
                "turns": blocks.turns.to_arrow(),
                "row": pa.array(blocks.rows, pa.int64()),
                "length": pa.array(blocks.lengths + self.template.num_special, pa.int32()),
            }
        )

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterator[FeatureLimit]:
        """Return the limits of token ids, lengths and the places where further rows begin."""
        texts, turns = view(features["tokens"].chunk(0)), view(features["turns"].chunk(0)).packed()
        yield from id_limits([("tokens", texts)], self.vocabulary.assets)
        yield FeatureLimit("number of tokens", texts.lengths, 1, self.room)
        length = texts.lengths + self.template.num_special
        yield FeatureLimit("length", features["length"].to_numpy(), length, length)
        yield FeatureLimit("turns", turns.values, 0, np.repeat(texts.lengths, turns.lengths) - 1)
        yield FeatureLimit("row of the last token", features["row"].to_numpy() + turns.lengths, 0, num_rows - 1)

    def gather(self, features: pa.Table, indices: Array, draw: RandomKey) -> Ragged:
        """Copy the tokens of some blocks; in training, packed ones are cut at other places each epoch."""
        if not (self.is_packed and draw.is_training):
            return gather(features["tokens"], indices)
        offset = draw_offset(draw.epoch, seed=draw.seed, room=self.room)
        return gather_moved(features["tokens"], indices, offset=offset)

    def pad(self, texts: Ragged) -> tuple[dict[str, Array], BlockLayout]:
        """Lay texts out in one rectangle with their special tokens."""
        batch = pad([texts], self.template, choose_padding(self.vocabulary.assets))
        attended = batch["attention_mask"].astype(bool)
        places = np.cumsum(attended, axis=1) - 1 - len(self.template.pieces[0])
        return batch, BlockLayout(attended & (places >= 0) & (places < texts.lengths[:, None]), valid_of(texts))

    def places(self, features: pa.Table, indices: Array, layout: BlockLayout) -> dict[str, Array]:
        """Return `row` of each block, and row and place of each of its tokens."""
        rows = pick(features["row"], indices)
        width = layout.valid.shape[1]
        found = find_rows(rows, gather(features["turns"], indices), width=width)
        place = np.broadcast_to(np.arange(width, dtype=np.int64), found.shape)
        return {
            "row": rows,
            "at_row": layout.spread(found, fill=0),
            "at_place": layout.spread(place, fill=0),
        }


def valid_of(texts: Ragged) -> Array:
    """Find which places of a matrix hold tokens, when every row begins with its first one."""
    width = int(texts.lengths.max(initial=1))
    return np.asarray(np.arange(max(1, width)) < texts.lengths[:, None])


def matrix_of(texts: Ragged, *, fill: int = 0) -> Array:
    """Put lists into a matrix, each from the left."""
    valid = valid_of(texts)
    matrix = np.full(valid.shape, fill, dtype=np.int64)
    matrix[valid] = texts.values[positions(texts.starts, texts.lengths)]
    return matrix
