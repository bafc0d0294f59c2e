"""Reads one file, whatever its format."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from burnish.data.files import LAYOUTS, SUFFIXES, Files, unknown_suffix
from burnish.data.inspection.faults import BadRow
from burnish.data.readers.encoding import as_utf8
from burnish.data.readers.open_file import digest, local, unpacked
from burnish.data.readers.read_columnar import read_arrow, read_parquet
from burnish.data.readers.read_conll import read_conll
from burnish.data.readers.read_delimited import read_delimited
from burnish.data.readers.read_json import read_json, read_json_lines
from burnish.data.readers.read_text import read_documents, read_folders, read_lines, text_files
from burnish.data.readers.scan import Dialect
from burnish.data.readers.stream import Large, is_large, stream
from burnish.data.sources.address import DataFile
from burnish.errors import DataError
from burnish.spec.values import Rows

DELIMITERS = {"csv": ",", "tsv": "\t"}


@dataclass(frozen=True)
class ReadFile:
    """What one file gave: rows, broken rows, and the digest of its bytes."""

    rows: Rows
    bad: tuple[BadRow, ...]
    digest: str


def read(file: DataFile, options: Files) -> ReadFile:
    """Read one file as the options say."""
    kind = format_of(file, options)
    try:
        with local(file) as path:
            before = _state(path)
            reading = _read(path, file, kind, options=options)
            if _state(path) != before:  # its digest may be that of other bytes than were read
                raise DataError(f"{file.name} changed while it was being read; start again when nothing writes to it")
            return reading
    except OSError as error:
        raise DataError(f"{file.name} could not be read: {error.strerror or error}") from error


def _read(path: Path, file: DataFile, kind: str, *, options: Files) -> ReadFile:
    if kind == "folders":
        rows, bad = read_folders(path, name=file.name, encoding=options.encoding)
        return ReadFile(rows, tuple(bad), _folder_digest(path))
    found = digest(path)
    streamed = _streamed(path, file, kind, options=options, digest=found)
    if streamed is not None:
        return ReadFile(streamed, (), found)
    rows, bad = parse(unpacked(path, file=file), kind, name=file.name, options=options)
    return ReadFile(rows, tuple(bad), found)


def _state(path: Path) -> list[tuple[int, ...]]:
    """Give what changes whenever a file, or one in a folder, is written."""
    found = [each.stat() for each in (text_files(path) if path.is_dir() else (path,))]
    return [(each.st_dev, each.st_ino, each.st_size, each.st_mtime_ns, each.st_ctime_ns) for each in found]


def format_of(file: DataFile, options: Files) -> str:
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


def dialect(kind: str, options: Files) -> Dialect:
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


def _streamed(path: Path, file: DataFile, kind: str, *, options: Files, digest: str) -> Rows | None:
    if not is_large(path, file, kind=kind):
        return None
    written = dialect(kind, options) if kind in DELIMITERS else None
    return stream(Large(path, file, kind, digest, written, options.encoding))


def parse(buffer: pa.Buffer, kind: str, *, name: str, options: Files) -> tuple[Rows, list[BadRow]]:
    """Read the bytes of a file of a kind."""
    if kind == "parquet":
        return read_parquet(buffer, name=name), []
    if kind == "arrow":
        return read_arrow(buffer, name=name), []
    buffer = as_utf8(buffer, stated=options.encoding, name=name)
    if kind in DELIMITERS:
        return read_delimited(buffer, name=name, dialect=dialect(kind, options))
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
        total.update(os.fsencode(path.relative_to(folder)) + b"\0" + bytes.fromhex(digest(path)))
    return total.hexdigest()
