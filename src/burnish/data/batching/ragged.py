"""Lists of different lengths, kept flat, and rows copied out of chunked columns without a Python loop over rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from burnish.spec.values import Array

Ends = tuple[int, ...]


@dataclass(frozen=True)
class Ragged:
    """Lists one after the other: list i is `values[starts[i] : starts[i] + lengths[i]]`."""

    values: Array
    starts: Array
    lengths: Array

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> Array:
        start = self.starts[index]
        return self.values[start : start + self.lengths[index]]

    def packed(self) -> Ragged:
        """Copy the lists so that they stand without gaps, in order."""
        return pack(self.values[positions(self.starts, self.lengths)], self.lengths)

    def to_arrow(self) -> pa.ListArray:
        """Convert to an Arrow array; they must be packed."""
        assert len(self.values) <= np.iinfo(np.int32).max, "tables are encoded in parts, so that offsets fit 32 bits"
        offsets = np.zeros(len(self) + 1, dtype=np.int32)
        np.cumsum(self.lengths, out=offsets[1:])
        return pa.ListArray.from_arrays(pa.array(offsets), pa.array(self.values))


def pack(values: Array, lengths: Array) -> Ragged:
    """Name the lists that stand in `values` one after the other."""
    lengths = np.asarray(lengths, dtype=np.int64)
    return Ragged(values, np.cumsum(lengths) - lengths, lengths)


def from_lists(lists: Sequence[Array]) -> Ragged:
    """Pack some arrays."""
    values = np.concatenate(lists) if lists else np.empty(0, dtype=np.int32)
    return pack(values, np.array([len(one) for one in lists], dtype=np.int64))


def total_lengths(texts: Sequence[Ragged]) -> Array:
    """Add up the lists that stand at the same place."""
    total: Array = np.stack([text.lengths for text in texts]).sum(axis=0)
    return total


def gather(column: pa.ChunkedArray, indices: Array) -> Ragged:
    """Copy the lists at these positions out of a (memory-mapped) column."""
    if column.num_chunks == 1:
        return _view_rows(column.chunk(0), indices).packed()
    found = [(places, _view_rows(chunk, rows)) for places, chunk, rows in _by_chunk(column, indices)]
    lengths = np.zeros(len(indices), dtype=np.int64)
    for places, lists in found:
        lengths[places] = lists.lengths
    gathered = pack(np.empty(int(lengths.sum()), dtype=np.int32), lengths)
    for places, lists in found:
        gathered.values[positions(gathered.starts[places], lists.lengths)] = lists.packed().values
    return gathered


def pick(column: pa.ChunkedArray, indices: Array) -> Array:
    """Copy the numbers, or lists of one fixed length, at these positions; Arrow's own way would copy every chunk."""
    return Picker({"": column}).rows(indices)[""]


def positions(starts: Array, lengths: Array) -> Array:
    """List start, start + 1, … for `length` places, for every list in turn."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - ends + lengths, lengths) + np.arange(total)


def view(chunk: pa.ListArray) -> Ragged:
    """See an Arrow list array as numpy, without a copy."""
    offsets = chunk.offsets.to_numpy(zero_copy_only=True).astype(np.int64)
    return Ragged(chunk.values.to_numpy(zero_copy_only=True), offsets[:-1], np.diff(offsets))


def _view_rows(chunk: pa.ListArray, indices: Array) -> Ragged:
    # Only the offsets that are asked for are widened, so a batch costs the same in a file of any size.
    offsets = chunk.offsets.to_numpy(zero_copy_only=True)
    starts = offsets[indices].astype(np.int64)
    return Ragged(chunk.values.to_numpy(zero_copy_only=True), starts, offsets[indices + 1] - starts)


def _by_chunk(column: pa.ChunkedArray, indices: Array) -> Iterator[tuple[Array, pa.Array, Array]]:
    """Group by chunk, of those that are asked for: the places in `indices`, the chunk, and its rows."""
    ends = np.cumsum([len(chunk) for chunk in column.chunks])
    which = np.searchsorted(ends, indices, side="right")
    for number in np.unique(which):
        places = np.flatnonzero(which == number)
        chunk = column.chunk(int(number))
        yield places, chunk, indices[places] - (ends[number] - len(chunk))


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
        lengths = {name: [len(chunk) for chunk in chunks] for name, chunks in self._chunks.items()}
        self._ends = {name: tuple(np.cumsum(sizes).tolist()) for name, sizes in lengths.items()}

    def rows(self, indices: Array) -> dict[str, Array]:
        """Copy the rows at these positions, in their order."""
        indices = np.asarray(indices, dtype=np.int64)
        spreads = {ends: ChunkedPick.over(ends, indices) for ends in set(self._ends.values()) if len(ends) > 1}
        return {
            name: _gather_rows(chunks, indices, spreads.get(self._ends[name])) for name, chunks in self._chunks.items()
        }


def read_column(column: pa.ChunkedArray) -> Array:
    """Read a whole column as one array, one of fixed-size lists as a matrix."""
    return np.concatenate(_chunks(column))


def _chunks(column: pa.ChunkedArray) -> list[Array]:
    return [_to_numpy(chunk) for chunk in column.chunks or [pa.array([], column.type)]]


def _to_numpy(chunk: pa.Array) -> Array:
    if not pa.types.is_fixed_size_list(chunk.type):
        return np.asarray(chunk.to_numpy(zero_copy_only=False))
    flat: Array = chunk.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(-1, chunk.type.list_size)


def _gather_rows(chunks: list[Array], indices: Array, spread: ChunkedPick | None) -> Array:
    if spread is None:
        return chunks[0].take(indices, axis=0)  # a quarter of the time that an index in brackets takes
    found = np.empty((len(indices), *chunks[0].shape[1:]), dtype=chunks[0].dtype)
    for number, place, rows in spread.pieces:
        chunks[number].take(rows, axis=0, out=found[place], mode="clip")  # with another mode, `out` is copied first
    return found.take(spread.back, axis=0)
