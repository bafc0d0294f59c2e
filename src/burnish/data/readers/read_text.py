"""Reads plain text, a row a line, and folders of text files, a row a file."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.inspection.faults import BadRow
from burnish.data.readers.encoding import as_utf8
from burnish.data.readers.open_file import text_body
from burnish.data.readers.scan import decoded, lost_byte
from burnish.data.rows import from_file
from burnish.errors import DataError
from burnish.spec.values import Array, RowOrigins, Rows

_SHOWN = 2000


def read_lines(buffer: pa.Buffer, *, name: str) -> tuple[Rows, list[BadRow]]:
    """Give every line that is not blank as a row with the column `text`."""
    texts, numbers, lost = lines_of(text_body(buffer, name=name).to_pybytes())
    if not texts and not lost:
        raise DataError(f"{name} is empty")
    bad = [BadRow(name, number + 1, why, line[:_SHOWN]) for number, line, why in lost]
    table = pa.table({"text": pa.array(texts, type=pa.string())})
    return from_file(table, name=name, first_line=1, numbers=numbers), bad


def read_documents(buffer: pa.Buffer, *, name: str) -> tuple[Rows, list[BadRow]]:
    """Give every run of lines between blank ones as a row with the column `text`."""
    rows, bad = read_lines(buffer, name=name)
    first = np.flatnonzero(np.diff(rows.places.numbers, prepend=-2) > 1)
    lines = pa.ListArray.from_arrays(
        pa.array(np.append(first, len(rows)), pa.int32()), rows.table["text"].combine_chunks().cast(pa.string())
    )
    table = pa.table({"text": pc.binary_join(lines, "\n")})
    return from_file(table, name=name, first_line=1, numbers=rows.places.numbers[first]), bad


def lines_of(data: bytes) -> tuple[list[str], "Array", list[tuple[int, str, str]]]:
    """Give the lines that are not blank with their numbers, and those with a lost byte: number, line, reason."""
    written = decoded(data).replace("\r\n", "\n").split("\n")
    numbered = [(number, line) for number, line in enumerate(written) if line.strip()]
    found = [(number, line, lost_byte(line)) for number, line in numbered if not line.isascii()]
    lost = [(number, line, why) for number, line, why in found if why]
    gone = {number for number, _, _ in lost}
    good = [(number, line) for number, line in numbered if number not in gone]
    return [line for _, line in good], np.array([number for number, _ in good], dtype=np.int64), lost


def text_files(folder: Path) -> list[Path]:
    """List the `.txt` files of a folder's class folders, in order of name."""
    classes = sorted(entry for entry in os.listdir(folder) if (folder / entry).is_dir() and not entry.startswith("."))
    return [path for entry in classes for path in sorted((folder / entry).glob("*.txt")) if path.is_file()]


def read_folders(folder: Path, *, name: str, encoding: str = "utf-8") -> tuple[Rows, list[BadRow]]:
    """Give every file of the class folders as a row: `text`, `label` (the folder's name), `id` (folder/file)."""
    paths = text_files(folder)
    if not paths:
        raise DataError(
            f"{name} is a directory without class folders of .txt files; "
            f"name files, or a glob like {name.rstrip('/')}/*.csv"
        )
    rows, bad = [], []
    for path in paths:
        key = f"{path.parent.name}/{path.name}"
        content = as_utf8(pa.py_buffer(path.read_bytes()), stated=encoding, name=f"{name.rstrip('/')}/{key}")
        text = decoded(content.to_pybytes()).removeprefix("\ufeff")
        lost = None if text.isascii() else lost_byte(text)
        if lost:
            bad.append(BadRow(f"{name.rstrip('/')}/{key}", None, lost, text[:_SHOWN]))
        else:
            rows.append({"text": text, "label": path.parent.name, "id": key})
    schema = pa.schema([(column, pa.string()) for column in ("text", "label", "id")])
    return Rows(pa.Table.from_pylist(rows, schema=schema), _places([row["id"] for row in rows], name=name)), bad


def _places(keys: list[str], *, name: str) -> RowOrigins:
    return RowOrigins(
        files=tuple(f"{name.rstrip('/')}/{key}" for key in keys),
        file_of=np.arange(len(keys), dtype=np.int32),
        numbers=np.zeros(len(keys), dtype=np.int64),
        first_lines=(1,) * len(keys),
    )
