"""Reads plain text, a row a line or document, folders of text files, and CoNLL columns."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.inspection.faults import BadRow
from burnish.data.readers.encoding import as_utf8
from burnish.data.readers.open_file import text_body
from burnish.data.readers.read_columnar import refuse_twins
from burnish.data.readers.scan import decode_lossy, lost_byte
from burnish.data.rows import from_file
from burnish.errors import DataError
from burnish.spec.values import Array, RowOrigins, Rows

_SHOWN = 2000
WORDS, TAGS, DOCUMENT = "words", "tags", "document"
UNNAMED = "_"
_NEW_DOCUMENT = "-DOCSTART-"


def read_lines(buffer: pa.Buffer, *, name: str) -> tuple[Rows, list[BadRow]]:
    """Read every line that is not blank as a row with the column `text`."""
    texts, numbers, lost = number_lines(text_body(buffer, name=name).to_pybytes())
    if not texts and not lost:
        raise DataError(f"{name} is empty")
    bad = [BadRow(name, number + 1, why, line[:_SHOWN]) for number, line, why in lost]
    table = pa.table({"text": pa.array(texts, type=pa.string())})
    return from_file(table, name=name, first_line=1, numbers=numbers), bad


def read_documents(buffer: pa.Buffer, *, name: str) -> tuple[Rows, list[BadRow]]:
    """Read every run of lines between blank ones as a row with the column `text`."""
    rows, bad = read_lines(buffer, name=name)
    first = np.flatnonzero(np.diff(rows.places.numbers, prepend=-2) > 1)
    lines = pa.ListArray.from_arrays(
        pa.array(np.append(first, len(rows)), pa.int32()), rows.table["text"].combine_chunks().cast(pa.string())
    )
    table = pa.table({"text": pc.binary_join(lines, "\n")})
    return from_file(table, name=name, first_line=1, numbers=rows.places.numbers[first]), bad


def number_lines(data: bytes) -> tuple[list[str], "Array", list[tuple[int, str, str]]]:
    """Number the lines that are not blank, and those with a lost byte: number, line, reason."""
    written = decode_lossy(data).replace("\r\n", "\n").split("\n")
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
    """Read every file of the class folders as a row: `text`, `label` (the folder's name), `id` (folder/file)."""
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
        text = decode_lossy(content.to_pybytes()).removeprefix("\ufeff")
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


@dataclass
class _Sentence:
    document: str | None
    line: int = 0
    """Where the first word stands, from 1."""
    cells: list[list[str]] = field(default_factory=list)
    written: list[str] = field(default_factory=list)


def read_conll(
    buffer: pa.Buffer, *, name: str, columns: Sequence[str] = (), delimiter: str | None = None
) -> tuple[Rows, list[BadRow]]:
    """Read every sentence as a row of lists, one list a column, and those with a line of too few or too many cells.

    Without `columns`, the first one is `words` and the last one, if there are several, `tags`; one that is called _ is
    left out.
    """
    text = decode_lossy(text_body(buffer, name=name).to_pybytes()).replace("\r\n", "\n")
    refuse_twins([column for column in columns if column != UNNAMED], name=name)
    sentences = list(_sentences(text, name=name, delimiter=delimiter))
    if not sentences:
        raise DataError(f"{name} holds no sentence")
    width = len(columns) or len(sentences[0].cells[0])
    faults = [(sentence, _fault(sentence, name=name, width=width)) for sentence in sentences]
    good = [sentence for sentence, fault in faults if fault is None]
    bad = [fault for _, fault in faults if fault is not None]
    numbers = np.array([sentence.line - 1 for sentence in good], dtype=np.int64)
    return from_file(_table(good, _name_columns(columns, width)), name=name, first_line=1, numbers=numbers), bad


def _sentences(text: str, *, name: str, delimiter: str | None) -> Iterator[_Sentence]:
    document: str | None = None
    open_one: _Sentence | None = None
    for line, written in enumerate([*text.split("\n"), ""], start=1):
        cells = _cells(written, delimiter)
        is_new_document = written.startswith(_NEW_DOCUMENT)
        if (not cells or is_new_document) and open_one is not None:
            yield open_one
            open_one = None
        if is_new_document:
            document = f"{name}:{line}"
        elif cells:
            open_one = open_one or _Sentence(document, line)
            open_one.cells.append(cells)
            open_one.written.append(written)


def _cells(written: str, delimiter: str | None) -> list[str]:
    """Cut a line at blanks; other white space, such as one that does not break, may stand within a word."""
    if not written.strip(" \t"):
        return []
    if delimiter is not None:
        return written.split(delimiter)
    return [cell for cell in written.replace("\t", " ").split(" ") if cell]


def _fault(sentence: _Sentence, *, name: str, width: int) -> BadRow | None:
    for place, (cells, written) in enumerate(zip(sentence.cells, sentence.written, strict=True)):
        why = None if written.isascii() else lost_byte(written)
        if len(cells) != width:
            why = f"has {len(cells)} {'column' if len(cells) == 1 else 'columns'}, but {width} are expected here"
        if why:
            return BadRow(name, sentence.line + place, why, "\n".join(sentence.written)[:_SHOWN])
    return None


def _name_columns(columns: Sequence[str], width: int) -> list[str | None]:
    """Name the columns that are kept; those between words and tags are not, unless the options name them."""
    if columns:
        return [None if column == UNNAMED else column for column in columns]
    return [WORDS, *[None] * (width - 2), TAGS] if width > 1 else [WORDS]


def _table(sentences: Sequence[_Sentence], names: Sequence[str | None]) -> pa.Table:
    lengths = [len(sentence.cells) for sentence in sentences]
    offsets = pa.array(np.cumsum([0, *lengths]), pa.int32())
    columns = {}
    for at, column in enumerate(names):
        if column is not None:
            flat = [cells[at] for sentence in sentences for cells in sentence.cells]
            columns[column] = pa.ListArray.from_arrays(offsets, pa.array(flat, pa.string()))
    columns[DOCUMENT] = pa.array([sentence.document for sentence in sentences], pa.string())
    return pa.table(columns)
