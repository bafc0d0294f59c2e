"""Divides the rows of one file into train, validation and test, and finds their bytes to write them again unchanged."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.data.inspection.faults import judge
from burnish.data.inspection.inspect import FileFacts, inspect_file
from burnish.data.inspection.propose import choose_target, has_text, propose
from burnish.data.options import Limit, SplitPlan
from burnish.data.readers.read import read
from burnish.data.rows import demand
from burnish.data.sources.address import DataFile, find
from burnish.data.splits.arrange import Arranged, PlainRequest, arrange
from burnish.errors import DataError
from burnish.spec.values import RowOrigins, Rows

_Numbers = np.ndarray[Any, np.dtype[np.int64]]
_CHUNK = 1 << 22
_LINE_FEED = 10


@dataclass(frozen=True)
class Division:
    """All rows of a file, and the parts they were divided into."""

    rows: Rows
    arranged: Arranged
    label: str | None
    """The column whose classes every part holds in proportion; None when no column was looked at."""
    encoding: str
    """What the file is written in."""


def only_file(source: str) -> DataFile:
    """Find the one file that is meant."""
    found = find(source, option="the file to split")
    if len(found) > 1:
        raise DataError(f"{source} means {len(found)} files, like {found[0].name}; split one at a time")
    return found[0]


def divide(source: str, plan: SplitPlan, *, label: str | None, seed: int) -> Division:
    """Read the file and divide its rows; refuse broken rows, for they could not be written again."""
    facts = inspect_file(source)
    reading = read(only_file(source), facts.options)
    total = len(reading.rows) + len(reading.bad)
    judge(reading.bad, total=total, policy="error", share=0.0, quarantine=None, split=source)
    _demand(reading.rows, (label,) if label else (), why="--label")
    _demand(reading.rows, plan.group, why="--group")
    chosen = label or _label(facts)
    arranged = arrange({"train": reading.rows}, plan=plan, limit=Limit(), request=PlainRequest(seed, chosen))
    return Division(reading.rows, arranged, chosen if arranged.is_stratified else None, facts.options.encoding)


def _demand(rows: Rows, columns: Sequence[str], *, why: str) -> None:
    demand(rows, columns, why=why, has_options=False)


def _label(facts: FileFacts) -> str | None:
    """Choose the column that looks like the label; None if none does, or several together do."""
    try:
        if not has_text(facts):
            return choose_target(facts).name
        labels = propose(facts).labels
    except DataError:
        return None  # rows without a label can be divided all the same
    return labels[0].name if len(labels) == 1 else None


def head_and_rows(buffer: pa.Buffer, all_rows: RowOrigins, chosen: RowOrigins) -> Iterator[memoryview]:
    """Yield what comes before the first row, then each chosen row with its line end and the blank lines after it."""
    (first,) = all_rows.first_lines
    assert first > 0, "only files of lines have a line for each row"
    # Where each line begins is found piece by piece, so that a mapped file is never copied whole.
    letters = np.frombuffer(buffer, dtype=np.uint8)
    chunks = range(0, len(letters), _CHUNK)
    found = [np.flatnonzero(letters[start : start + _CHUNK] == _LINE_FEED) + start + 1 for start in chunks]
    starts = np.concatenate([np.zeros(1, dtype=np.int64), *found])[all_rows.numbers + first - 1]
    ends = np.append(starts[1:], buffer.size)
    data = memoryview(buffer)
    yield data[: starts[0]]
    for row in np.searchsorted(all_rows.numbers, chosen.numbers):
        yield data[starts[row] : ends[row]]
