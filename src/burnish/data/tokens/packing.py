"""Cuts tokens into blocks, and documents into sentences and stretches that fit a length; no token is ever lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.batching.ragged import Ragged, gather, pack, positions
from burnish.data.batching.rng import generator
from burnish.spec.values import Array

_END_OF_SENTENCE = r"([.!?]['\")\]]*)[ \t]+"


@dataclass(frozen=True)
class Blocks:
    """Blocks of tokens; block i begins in row `rows[i]`, and `turns[i]` tells where in it further rows begin."""

    tokens: Ragged
    rows: Array
    turns: Ragged
    """Rising places; a place stands there once for every row that begins at it, rows without tokens included."""

    @property
    def lengths(self) -> Array:
        """Count the tokens of each block."""
        return self.tokens.lengths


def cut_lines(texts: Ragged, *, room: int) -> Blocks:
    """Cut each text by itself into blocks of at most `room` tokens; a text without tokens gives none."""
    texts = texts.packed()
    counts = -(-texts.lengths // room)
    rows = np.repeat(np.arange(len(texts)), counts)
    firsts = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    lengths = np.minimum(room, texts.lengths[rows] - firsts * room)
    return Blocks(pack(texts.values, lengths), rows, pack(np.empty(0, dtype=np.int32), np.zeros(len(rows))))


def cut_packed(texts: Ragged, *, room: int) -> Blocks:
    """Put all texts one after the other and cut that into blocks of `room` tokens; only the last may be shorter."""
    texts = texts.packed()
    total = len(texts.values)
    starts = np.arange(0, total, room)
    lengths = np.minimum(room, total - starts)
    rows = np.searchsorted(texts.starts, starts, side="right") - 1
    # A row turns up in the block it begins in, unless the block begins with it (or after it, if it is empty).
    later = np.arange(len(texts)) > rows[np.minimum(texts.starts // room, max(0, len(rows) - 1))] if total else []
    places = texts.starts[later] if total else np.empty(0, dtype=np.int64)
    inside = places < total
    block = places[inside] // room
    turns = pack((places[inside] - block * room).astype(np.int32), np.bincount(block, minlength=len(starts)))
    return Blocks(pack(texts.values, lengths), rows, turns)


def find_rows(rows: Array, turns: Ragged, *, width: int) -> Array:
    """Find the row of each place of blocks, [n, width]; places beyond a block's end get its last row."""
    steps = np.zeros((len(rows), width), dtype=np.int64)
    steps[:, 0] = rows
    np.add.at(steps, (np.repeat(np.arange(len(turns)), turns.lengths), turns.packed().values), 1)
    return np.cumsum(steps, axis=1)


def draw_offset(epoch: int, *, seed: int, room: int) -> int:
    """Say by how many tokens the cuts of an epoch are moved."""
    return int(generator(seed, "offset", epoch=epoch).integers(room))


def gather_moved(column: pa.ChunkedArray, indices: Array, *, offset: int) -> Ragged:
    """Copy blocks out of a column with every cut moved by `offset` tokens.

    Each block gives its first tokens to the one before it, and the first block gives them to the last: every epoch
    sees every token once, in the same order.
    """
    own = gather(column, indices)
    if offset == 0:
        return own
    following = gather(column, (indices + 1) % len(column))
    given, taken = np.minimum(own.lengths, offset), np.minimum(following.lengths, offset)
    kept = own.lengths - given
    moved = pack(np.empty(int(kept.sum() + taken.sum()), dtype=own.values.dtype), kept + taken)
    moved.values[positions(moved.starts, kept)] = own.values[positions(own.starts + given, kept)]
    moved.values[positions(moved.starts + kept, taken)] = following.values[positions(following.starts, taken)]
    return moved


def split_sentences(column: pa.ChunkedArray) -> tuple[pa.Array, Array]:
    """List all sentences and the row of each: what a . ! or ? ends, or lines where a text has one a line.

    Lines that hold two sentences and more on average are paragraphs, and are split like running text.
    """
    texts = pc.fill_null(column.cast(pa.large_string()), "").combine_chunks()
    texts = texts if isinstance(texts, pa.Array) else pa.concat_arrays(texts.chunks)
    trimmed = pc.utf8_trim_whitespace(texts)
    lines = pc.add(pc.count_substring(trimmed, "\n"), 1)
    is_prose = pc.greater_equal(pc.count_substring_regex(trimmed, _END_OF_SENTENCE), lines)
    marked = pc.if_else(is_prose, pc.replace_substring_regex(trimmed, _END_OF_SENTENCE, "\\1\n"), trimmed)
    lists = pc.split_pattern(marked, "\n")
    return pc.utf8_trim_whitespace(lists.flatten()), pc.list_parent_indices(lists).to_numpy().astype(np.int64)


@dataclass(frozen=True)
class Stretches:
    """Runs of sentences of one row each; `cuts[i]` tells where in stretch i it may be cut in two."""

    tokens: Ragged
    rows: Array
    cuts: Ragged


def fill_stretches(sentences: Ragged, rows: Array, *, room: int) -> Stretches:
    """Fill stretches of at most `room` tokens with whole sentences of a row; too long ones are cut, nothing is lost.

    A stretch of one sentence may be cut in its middle. Only a stretch of a single token is left out: it has no two
    sides.
    """
    lengths, rows = _fitting(sentences.packed().lengths, rows, room=room)
    lengths, rows = lengths[lengths > 0], rows[lengths > 0]
    first = _firsts(lengths, rows, room=room)
    sizes = np.add.reduceat(lengths, first) if len(first) else np.empty(0, dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    group = np.searchsorted(first, np.arange(len(lengths)), side="right") - 1
    inside = np.ones(len(lengths), dtype=bool)
    inside[first] = False
    places, counts = (starts - starts[first][group])[inside], np.bincount(group[inside], minlength=len(first))
    alone = np.flatnonzero(counts == 0)
    places = np.insert(places, np.cumsum(counts)[alone], sizes[alone] // 2)
    cuts = pack(places.astype(np.int32), np.maximum(counts, 1))
    whole = Stretches(pack(sentences.packed().values, sizes), rows[first], cuts)
    return _with_two_sides(whole)


def _fitting(lengths: Array, rows: Array, *, room: int) -> tuple[Array, Array]:
    """Cut sentences that are too long by themselves."""
    counts = np.maximum(1, -(-lengths // room))
    which = np.repeat(np.arange(len(lengths)), counts)
    number = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.minimum(room, lengths[which] - number * room), rows[which]


def _firsts(lengths: Array, rows: Array, *, room: int) -> Array:
    """Name the sentence that each stretch begins with: all rows are walked through side by side."""
    ends = np.cumsum(lengths)
    following = np.searchsorted(ends, ends - lengths + room, side="right")
    owner = np.append(rows, -1)
    walking = np.flatnonzero(np.diff(rows, prepend=-1))
    found = [walking]
    while len(walking):
        # A walk that leaves its row ends there: the next row has begun one of its own.
        walking = following[walking][owner[following[walking]] == owner[walking]]
        found.append(walking)
    return np.sort(np.concatenate(found))


def _with_two_sides(whole: Stretches) -> Stretches:
    kept = whole.tokens.lengths > 1
    if kept.all():
        return whole
    tokens, cuts = (
        Ragged(each.values, each.starts[kept], each.lengths[kept]).packed() for each in (whole.tokens, whole.cuts)
    )
    return Stretches(tokens, whole.rows[kept], cuts)
