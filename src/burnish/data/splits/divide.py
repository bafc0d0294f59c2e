"""Divides the rows of files into train, validation and test, and finds their bytes to write them again unchanged."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.data.files import Files, Layout
from burnish.data.inspection.faults import judge
from burnish.data.inspection.inspect import FileFacts, inspect_file
from burnish.data.inspection.propose import choose_target, has_text, propose
from burnish.data.options import Limit, SplitPlan
from burnish.data.readers.read import ReadFile, read
from burnish.data.rows import demand, join
from burnish.data.sources.address import DataFile
from burnish.data.splits.arrange import Arranged, PlainRequest, arrange
from burnish.errors import DataError
from burnish.spec.values import RowOrigins, Rows

_Numbers = np.ndarray[Any, np.dtype[np.int64]]
_CHUNK = 1 << 22
_LINE_FEED = 10
_WRITTEN = {"header", "quoting", "delimiter", "encoding", "decimal"}
"""The options that tell how rows are written."""


@dataclass(frozen=True)
class Division:
    """All rows of some files, and the parts they were divided into."""

    files: Sequence[DataFile]
    rows: Rows
    arranged: Arranged
    label: str | None
    """The column whose classes every part holds in proportion; None when no column was looked at."""
    encoding: str
    """What the files are written in."""


def divide(
    files: Sequence[DataFile], plan: SplitPlan, *, layout: Layout | None, label: str | None, seed: int
) -> Division:
    """Read the files and divide their rows; refuse broken rows, for they could not be written again."""
    facts = [] if layout else [inspect_file(file.location) for file in files]
    known = [each.options for each in facts] or [Files(train=(each.location,), layout=layout) for each in files]
    readings = [read(file, options) for file, options in zip(files, known, strict=True)]
    for file, reading in zip(files, readings, strict=True):
        total = len(reading.rows) + len(reading.bad)
        judge(reading.bad, total=total, policy="error", share=0.0, quarantine=None, split=file.name)
    _refuse_unlike(files, known, readings)
    rows = join([reading.rows for reading in readings])
    _demand(rows, (label,) if label else (), why="--label")
    _demand(rows, plan.group, why="--group")
    chosen = label or ("label" if layout else _label(facts[0]))
    arranged = arrange({"train": rows}, plan=plan, limit=Limit(), request=PlainRequest(seed, chosen))
    stratified = chosen if arranged.is_stratified else None
    return Division(files, rows, arranged, stratified, known[0].encoding)


def _refuse_unlike(files: Sequence[DataFile], known: Sequence[Files], readings: Sequence[ReadFile]) -> None:
    """Refuse a file whose rows could not stand below those of the first one."""
    ways = [options.model_dump(include=_WRITTEN) for options in known]
    columns = [reading.rows.table.column_names for reading in readings]
    for file, reading, way, own in zip(files, readings, ways, columns, strict=True):
        if reading.kind != readings[0].kind or way != ways[0]:
            what = "another format, delimiter or encoding"
        elif own != columns[0]:
            what = f"the columns {', '.join(own)} instead of {', '.join(columns[0])}"
        else:
            continue
        raise DataError(f"{file.name} has {what} than {files[0].name}; split them one by one")


def _demand(rows: Rows, columns: Sequence[str], *, why: str) -> None:
    demand(rows, columns, why=why, has_options=False)


def _label(facts: FileFacts) -> str | None:
    """Choose the column that looks like the label; None if none does, or several together do."""
    try:
        if not has_text(facts):
            target, _ = choose_target(facts)
            return target.name
        labels = propose(facts).labels
    except DataError:
        return None  # rows without a label can be divided all the same
    return labels[0].name if len(labels) == 1 else None


def head_and_rows(buffer: pa.Buffer, all_rows: RowOrigins, chosen: RowOrigins) -> Iterator[memoryview]:
    """Yield what comes before the first row, then each chosen row with its line end and the blank lines after it.

    Both are rows of one file.
    """
    first = all_rows.first_lines[all_rows.file_of[0]]
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
