"""Cuts a file of lines into the bytes of its rows, so that some of them can be written again as they stand."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.spec.values import RowOrigins

_Numbers = np.ndarray[Any, np.dtype[np.int64]]
_CHUNK = 1 << 22
_LINE_FEED = 10


def head_and_rows(buffer: pa.Buffer, all_rows: RowOrigins, chosen: RowOrigins) -> Iterator[memoryview]:
    """Give what stands before the first row, then each chosen row with its line end and the blank lines after it."""
    starts = _starts(buffer)[_lines(all_rows)]
    ends = np.append(starts[1:], buffer.size)
    data = memoryview(buffer)
    yield data[: starts[0]]
    for row in np.searchsorted(all_rows.numbers, chosen.numbers):
        yield data[starts[row] : ends[row]]


def _lines(places: RowOrigins) -> _Numbers:
    """Give the line of each row of a single file, counted from 0."""
    (first,) = places.first_lines
    assert first > 0, "only files of lines have a line for each row"
    lines: _Numbers = places.numbers + first - 1
    return lines


def _starts(buffer: pa.Buffer) -> _Numbers:
    """Find where each line begins, piece by piece, so that a mapped file is never copied whole."""
    data = np.frombuffer(buffer, dtype=np.uint8)
    chunks = range(0, len(data), _CHUNK)
    found = [np.flatnonzero(data[start : start + _CHUNK] == _LINE_FEED) + start + 1 for start in chunks]
    return np.concatenate([np.zeros(1, dtype=np.int64), *found])
