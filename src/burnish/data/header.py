"""Finds files that are not there and columns that they lack without reading rows, so that training need not start."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from burnish.data.address import DataFile, find, is_url, join_address
from burnish.data.contents import first_bytes
from burnish.data.files import Files
from burnish.data.read import DELIMITERS, dialect, format_of, read
from burnish.data.read_delimited import shape_of
from burnish.data.rows import explain_missing
from burnish.errors import DataError

_HEAD_BYTES = 1 << 20
_WHOLE_BYTES = 1 << 22
"""A file up to this size is read whole where its first bytes do not name all columns."""
_OF_TEXTS = {"text": ("text",), "documents": ("text",), "folders": ("text", "label", "id")}


def absent(options: Files, columns: Sequence[str], *, place: str) -> Iterator[tuple[str, str]]:
    """Give an option and a sentence for each file that is not there and each column that is in none of a split's files.

    `columns` are those of the task. A URL is not opened, and so its columns are not known.
    """
    faulty = {option for option, _ in options.unreadable()}
    for option, paths in options.paths.items():
        if option in faulty:
            continue
        try:
            files = [file for written in paths for file in _find(written, options, option=f"{place}.{option}")]
            names = [_columns(file, options) for file in files]
        except DataError as error:
            whole = str(error)
            yield option, whole if whole.startswith(place) else f"{place}.{option}: {whole}"
            continue
        known = [name for each in names if each is not None for name in each]
        if files and None not in names:
            yield from _lacking(options, option, columns, there=list(dict.fromkeys(known)), files=files)


def _find(written: str, options: Files, *, option: str) -> list[DataFile]:
    address = join_address(options.dir, written)
    return [DataFile(address, address)] if is_url(address) else find(written, base=options.dir, option=option)


def _columns(file: DataFile, options: Files) -> Sequence[str] | None:
    """Name the columns of a file; None where that would take a connection or the whole of a large file."""
    if file.is_remote:
        return None
    kind, path = format_of(file, options), Path(file.location)
    try:
        if kind in _OF_TEXTS:
            return _OF_TEXTS[kind]
        if kind in DELIMITERS:
            head = first_bytes(path, file=file, size=_HEAD_BYTES)
            return shape_of(head, dialect(kind, options), name=file.name).wanted
        if kind == "parquet" and file.compression is None:
            return list(pa.parquet.read_schema(path).names)
        return read(file, options).rows.table.column_names if path.stat().st_size <= _WHOLE_BYTES else None
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"{file.name} could not be read: {error}") from error


def _lacking(
    options: Files, option: str, columns: Sequence[str], *, there: Sequence[str], files: Sequence[DataFile]
) -> Iterator[tuple[str, str]]:
    is_split = option == "train" and options.split.by is not None
    wanted = {
        "task": columns,
        "data.filter": tuple(options.filter),
        "data.split.by": (options.split.by,) if options.split.by is not None and option == "train" else (),
        "data.split.group": options.split.group if is_split or options.split.by is None else (),
    }
    for why, needed in wanted.items():
        sentence = explain_missing(needed, there, why=why, files=[file.name for file in files])
        if sentence is not None:
            yield why.removeprefix("data."), sentence
