"""Reads one file, whatever its format, for training or as it is, to be scored or predicted."""

import hashlib
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import pyarrow as pa

from burnish.data.files import LAYOUTS, SUFFIXES, Files, unknown_suffix
from burnish.data.inspection.faults import BadRow, judge
from burnish.data.readers.encoding import as_utf8
from burnish.data.readers.open_file import hold_local, open_unpacked
from burnish.data.readers.read_columnar import read_arrow, read_parquet, read_tfrecord, refuse_twins
from burnish.data.readers.read_delimited import read_delimited
from burnish.data.readers.read_encoded import read_encoded
from burnish.data.readers.read_json import read_json, read_json_lines
from burnish.data.readers.read_text import read_conll, read_documents, read_folders, read_lines, text_files
from burnish.data.readers.scan import Dialect
from burnish.data.readers.stream import Large, is_large, stream
from burnish.data.rows import demand, from_file, join
from burnish.data.sources.address import DataFile, find
from burnish.data.tfrecord import TfRecords
from burnish.durable import sha256_of
from burnish.errors import DataError
from burnish.nearest import nearest
from burnish.spec.values import Rows

DELIMITERS = {"csv": ",", "tsv": "\t"}
_PLAIN_TEXT = (".txt", ".text", ".raw")
_DIALECT = ("quoting", "delimiter", "encoding", "decimal")
_ENCODED = ("tokenizer", "labels", "features")
_SHAPE = ("header", "columns", "layout", *_DIALECT)


@dataclass(frozen=True)
class ReadFile:
    """What one file gave: rows, broken rows, and the digest of its bytes."""

    rows: Rows
    bad: tuple[BadRow, ...]
    digest: str
    kind: str
    """Its format."""


def join_readings(readings: Sequence[ReadFile]) -> Rows:
    """Put the rows of files together; records of TensorFlow do not tell a list of one value from the value."""
    return join([each.rows for each in readings], has_lists={each.kind for each in readings} == {"tfrecord"})


def read(file: DataFile, options: Files) -> ReadFile:
    """Read one file as the options say."""
    kind = find_format(file, options)
    try:
        with hold_local(file) as path:
            before = _state(path)
            reading = _read(path, file, kind, options=options)
            if _state(path) != before:  # its digest may be that of other bytes than were read
                raise DataError(f"{file.name} changed while it was being read; start again when nothing writes to it")
            return reading
    except OSError as error:
        raise DataError(f"{file.name} could not be read: {error.strerror or error}") from error


def digest_file(file: DataFile, options: Files) -> str:
    """Digest a file on this machine as `read` does, or all that are in a folder."""
    path = Path(file.location)
    try:
        return _folder_digest(path) if find_format(file, options) == "folders" else sha256_of(path)
    except OSError as error:
        raise DataError(f"{file.name} could not be read: {error.strerror or error}") from error


def _read(path: Path, file: DataFile, kind: str, *, options: Files) -> ReadFile:
    if kind == "folders":
        rows, bad = read_folders(path, name=file.name, encoding=options.encoding)
        return ReadFile(rows, tuple(bad), _folder_digest(path), kind)
    digest = sha256_of(path)
    if is_large(path, file, kind=kind):
        written = find_dialect(kind, options) if kind in DELIMITERS else None
        streamed = stream(Large(path, file, kind, digest, written, options.encoding))
        if streamed is not None:
            return ReadFile(streamed, (), digest, kind)
    rows, bad = parse(open_unpacked(path, file=file), kind, name=file.name, options=options)
    return ReadFile(rows, tuple(bad), digest, kind)


def _state(path: Path) -> list[tuple[int, ...]]:
    """Note what changes whenever a file, or one in a folder, is written."""
    found = [each.stat() for each in (text_files(path) if path.is_dir() else (path,))]
    return [(each.st_dev, each.st_ino, each.st_size, each.st_mtime_ns, each.st_ctime_ns) for each in found]


def find_format(file: DataFile, options: Files) -> str:
    """Tell a file's format by what it is, by the options, or by its suffix."""
    if file.is_directory or options.format == "folders":
        if not file.is_directory:
            raise DataError(f"data.format: folders needs a local directory, but {file.name} is not one")
        return "folders"
    if options.layout:
        return "json" if options.layout == "squad" else "tsv"
    if options.format != "auto":
        return options.format
    kind = SUFFIXES.get(file.suffix)
    if kind is None:
        raise DataError(f"{file.name} {unknown_suffix(file.suffix)}")
    return kind


def find_dialect(kind: str, options: Files) -> Dialect:
    """Tell how a delimited file is written."""
    if options.layout:
        return Dialect("\t", quoting=False, header=False, columns=LAYOUTS[options.layout], is_ragged=True)
    return Dialect(
        delimiter=options.delimiter or DELIMITERS[kind],
        quoting=kind == "csv" if options.quoting is None else options.quoting,
        header=None if options.header == "auto" else options.header,
        columns=options.columns,
        decimal=options.decimal,
    )


def parse(buffer: pa.Buffer, kind: str, *, name: str, options: Files) -> tuple[Rows, list[BadRow]]:
    """Read the bytes of a file of a kind."""
    if kind == "parquet":
        return read_parquet(buffer, name=name), []
    if kind == "arrow":
        return read_arrow(buffer, name=name), []
    if kind == "tfrecord":
        rows, bad = read_tfrecord(buffer, name=name)
        if isinstance(options, TfRecords) and options.tokenizer is not None:
            return read_encoded(rows, bad, name=name, options=options)
        return rows, bad
    buffer = as_utf8(buffer, stated=options.encoding, name=name)
    if kind in DELIMITERS:
        return read_delimited(buffer, name=name, dialect=find_dialect(kind, options))
    if kind == "conll":
        return read_conll(buffer, name=name, columns=options.columns, delimiter=options.delimiter)
    readers: dict[str, Callable[..., tuple[Rows, list[BadRow]]]] = {
        "jsonl": read_json_lines,
        "json": partial(read_json, layout=options.layout),
        "text": read_lines,
        "documents": read_documents,
    }
    return readers[kind](buffer, name=name)


def _folder_digest(folder: Path) -> str:
    total = hashlib.sha256()
    for path in text_files(folder):
        total.update(os.fsencode(path.relative_to(folder)) + b"\0" + bytes.fromhex(sha256_of(path)))
    return total.hexdigest()


def read_file(
    name: str,
    *,
    columns: Sequence[str],
    like: object = None,
    absent: Literal["error", "default"] = "error",
    checked_later: Collection[str] = (),
) -> Rows:
    """Read a file (or glob, `package:` address or URL) with these columns.

    A file that does not name them is read as the files of `like` were: without a header, with their columns. With
    `absent="default"` a file may lack some of them, but not all, and none whose name it has nearly, but for those
    that are checked later.
    """
    found = find(name, base=None, option="the input")
    refusals: list[DataError] = []
    for options in _ways(name, like):
        try:
            readings: list[ReadFile] = [read(file, options) for file in found]
            bad = [row for reading in readings for row in reading.bad]
            rows = _check_columns(join_readings(readings), columns=columns, absent=absent, checked_later=checked_later)
            judge(bad, total=len(rows) + len(bad), policy="error", share=0.0, quarantine=None, split=options.train[0])
            return rows
        except DataError as error:
            refusals.append(error)
    raise refusals[-1] if isinstance(like, Files) and _has_own_columns(like) else refusals[0]


def read_table(
    table: pa.Table,
    *,
    name: str,
    columns: Sequence[str],
    absent: Literal["error", "default"] = "error",
    checked_later: Collection[str] = (),
) -> Rows:
    """Do as `read_file` with a table in memory, which messages call by `name`."""
    refuse_twins(table.column_names, name=name)
    return _check_columns(
        from_file(table, name=name, first_line=0), columns=columns, absent=absent, checked_later=checked_later
    )


def _ways(name: str, like: object) -> Iterator[Files]:
    """List the ways to read, a header first: if it names the columns, it is to be believed."""
    plain = Files(train=(name,))
    if not isinstance(like, Files):
        yield plain
        return
    if isinstance(like, TfRecords):
        yield TfRecords(train=(name,), **{key: getattr(like, key) for key in _ENCODED})
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
    """Yield a way to read, then with the usual encoding and decimal mark, if the file itself contradicts the others."""
    yield options
    for usual in ({"encoding": "utf-8"}, {"decimal": "."}, {"encoding": "utf-8", "decimal": "."}):
        if (other := options.model_copy(update=usual)) != options:
            yield other


def _has_own_columns(options: Files) -> bool:
    return options.header is False or bool(options.columns) or options.layout is not None


def _check_columns(rows: Rows, *, columns: Sequence[str], absent: str, checked_later: Collection[str]) -> Rows:
    there = rows.table.column_names
    needed = columns if absent == "error" else _needed(columns, there, checked_later=checked_later)
    demand(rows, needed, why="the model", has_options=False)
    return rows


def _needed(columns: Sequence[str], there: Sequence[str], *, checked_later: Collection[str]) -> Sequence[str]:
    """Name the columns that no default stands in for: all if there is none of them, else those misspelt."""
    if not set(columns) & set(there):
        return columns
    others = [name for name in there if name not in columns]
    return [
        name
        for name in columns
        if name in there or (name not in checked_later and nearest(name, others, likeness=0.85))
    ]
