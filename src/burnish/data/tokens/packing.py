"""Cuts tokens into blocks, line by line or packed, and moves the cuts from epoch to epoch; no token is ever lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from burnish.data.batching.ragged import Ragged, gather, pack, positions
from burnish.data.batching.rng import generator
from burnish.spec.values import Array


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


def rows_at(rows: Array, turns: Ragged, *, width: int) -> Array:
    """Give the row of each place of blocks, [n, width]; places beyond a block's end get its last row."""
    steps = np.zeros((len(rows), width), dtype=np.int64)
    steps[:, 0] = rows
    np.add.at(steps, (np.repeat(np.arange(len(turns)), turns.lengths), turns.packed().values), 1)
    return np.cumsum(steps, axis=1)


def offset_of(epoch: int, *, seed: int, room: int) -> int:
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
