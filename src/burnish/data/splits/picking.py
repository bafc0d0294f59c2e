"""Copies rows out of columns that lie in a file, in however many chunks: one look at the chunks serves all columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from burnish.spec.values import Array

Ends = tuple[int, ...]


@dataclass(frozen=True)
class ChunkedPick:
    """Where some rows of a chunked column lie: sorted by chunk, and the way back to the order that was asked for."""

    pieces: tuple[tuple[int, slice, Array], ...]
    """Of each chunk that is asked for: its number, the place of its rows among all that are sorted, and the rows."""
    back: Array

    @classmethod
    def over(cls, ends: Ends, indices: Array) -> ChunkedPick:
        """Find the chunk of each row by one sort, however many chunks there are."""
        order = np.argsort(indices, kind="stable")
        ordered, starts = indices[order], (0, *ends)
        cuts = (0, *np.searchsorted(ordered, ends).tolist())
        pieces = tuple(
            (number, slice(first, last), ordered[first:last] - starts[number])
            for number, (first, last) in enumerate(pairwise(cuts))
            if first < last
        )
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return cls(pieces, back)


class Picker:
    """See columns of numbers, or of lists of one fixed length, as numpy; nothing is copied until rows are asked for."""

    def __init__(self, columns: Mapping[str, pa.ChunkedArray]) -> None:
        self._chunks = {name: _chunks(column) for name, column in columns.items()}
        self._ends = {name: _ends(chunks) for name, chunks in self._chunks.items()}

    def rows(self, indices: Array) -> dict[str, Array]:
        """Copy the rows at these positions, in their order."""
        indices = np.asarray(indices, dtype=np.int64)
        spreads = {ends: ChunkedPick.over(ends, indices) for ends in set(self._ends.values()) if len(ends) > 1}
        return {
            name: _gathered(chunks, indices, spreads.get(self._ends[name])) for name, chunks in self._chunks.items()
        }


def _chunks(column: pa.ChunkedArray) -> list[Array]:
    return [_numbers_of(chunk) for chunk in column.chunks or [pa.array([], column.type)]]


def _ends(chunks: list[Array]) -> Ends:
    return tuple(np.cumsum([len(chunk) for chunk in chunks]).tolist())


def _numbers_of(chunk: pa.Array) -> Array:
    if not pa.types.is_fixed_size_list(chunk.type):
        return np.asarray(chunk.to_numpy(zero_copy_only=False))
    flat: Array = chunk.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(-1, chunk.type.list_size)


def _gathered(chunks: list[Array], indices: Array, spread: ChunkedPick | None) -> Array:
    if spread is None:
        return chunks[0].take(indices, axis=0)  # a quarter of the time that an index in brackets takes
    found = np.empty((len(indices), *chunks[0].shape[1:]), dtype=chunks[0].dtype)
    for number, place, rows in spread.pieces:
        chunks[number].take(rows, axis=0, out=found[place], mode="clip")  # with another mode, `out` is copied first
    return found.take(spread.back, axis=0)
