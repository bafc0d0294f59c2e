"""Reads one file, or takes one table, as it is, to be scored or predicted."""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Literal

import pyarrow as pa

from burnish.data.files import Files
from burnish.data.inspection.faults import judge
from burnish.data.readers.read import ReadFile, read
from burnish.data.readers.read_columnar import refuse_twins
from burnish.data.rows import demand, from_file, join
from burnish.data.sources.address import DataFile, find
from burnish.errors import DataError
from burnish.spec.values import Rows

_PLAIN_TEXT = (".txt", ".text", ".raw")
_DIALECT = ("quoting", "delimiter", "encoding", "decimal")
_SHAPE = ("header", "columns", "layout", *_DIALECT)


def read_file(
    name: str, *, columns: Sequence[str], like: object = None, absent: Literal["error", "default"] = "error"
) -> Rows:
    """Give the rows of a file (or glob, `package:` address or URL) with these columns.

    A file that does not name them is read as the files of `like` were: without a header, with their columns. With
    `absent="default"` a file may lack some of them, but not all, and none whose name it has nearly.
    """
    found = find(name, base=None, option="the input")
    refusals: list[DataError] = []
    for options in _ways(name, like):
        try:
            return _rows(found, options, columns=columns, absent=absent)
        except DataError as error:
            refusals.append(error)
    raise refusals[-1] if isinstance(like, Files) and _has_own_columns(like) else refusals[0]


def rows_of(
    table: pa.Table, *, name: str, columns: Sequence[str], absent: Literal["error", "default"] = "error"
) -> Rows:
    """Do as `read_file` with a table in memory, which messages call by `name`."""
    refuse_twins(table.column_names, name=name)
    return _checked(from_file(table, name=name, first_line=0), columns=columns, absent=absent)


def _ways(name: str, like: object) -> Iterator[Files]:
    """Give the ways to read, a header first: if it names the columns, it is to be believed."""
    plain = Files(train=(name,))
    if not isinstance(like, Files):
        yield plain
        return
    written = {key: getattr(like, key) for key in _DIALECT}
    if like.format == "documents" and name.removesuffix(".gz").endswith(_PLAIN_TEXT):
        yield from _spellings(Files(train=(name,), format="documents", encoding=like.encoding))
    if written != {key: getattr(plain, key) for key in _DIALECT}:
        yield from _spellings(Files(train=(name,), **written))
    yield plain
    if _has_own_columns(like):
        yield from _spellings(Files(train=(name,), **{key: getattr(like, key) for key in _SHAPE}))
    if like.format == "conll":
        tagged = {"format": like.format, "delimiter": like.delimiter, "encoding": like.encoding}
        yield from _spellings(Files(train=(name,), columns=like.columns, **tagged))
        yield from _spellings(Files(train=(name,), **tagged))  # words alone, to be tagged


def _spellings(options: Files) -> Iterator[Files]:
    """Give a way to read, then with the usual encoding and decimal mark, if the file itself contradicts the others."""
    yield options
    for usual in ({"encoding": "utf-8"}, {"decimal": "."}, {"encoding": "utf-8", "decimal": "."}):
        if (other := options.model_copy(update=usual)) != options:
            yield other


def _has_own_columns(options: Files) -> bool:
    return options.header is False or bool(options.columns) or options.layout is not None


def _rows(found: Sequence[DataFile], options: Files, *, columns: Sequence[str], absent: str) -> Rows:
    readings: list[ReadFile] = [read(file, options) for file in found]
    bad = [row for reading in readings for row in reading.bad]
    rows = _checked(join([reading.rows for reading in readings]), columns=columns, absent=absent)
    judge(bad, total=len(rows) + len(bad), policy="error", share=0.0, quarantine=None, split=options.train[0])
    return rows


def _checked(rows: Rows, *, columns: Sequence[str], absent: str) -> Rows:
    needed = columns if absent == "error" else _needed(columns, rows.table.column_names)
    demand(rows, needed, why="the model", has_options=False)
    return rows


def _needed(columns: Sequence[str], there: Sequence[str]) -> Sequence[str]:
    """Name the columns that no default stands in for: all if there is none of them, else those misspelt."""
    if not set(columns) & set(there):
        return columns
    others = [name for name in there if name not in columns]
    return [name for name in columns if name in there or get_close_matches(name, others, n=1, cutoff=0.85)]
