"""Reads CoNLL columns: a word a line with its tags beside it, a blank line after each sentence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from burnish.data.inspection.faults import BadRow
from burnish.data.readers.open_file import text_body
from burnish.data.readers.read_columnar import refuse_twins
from burnish.data.readers.scan import decoded, lost_byte
from burnish.data.rows import from_file
from burnish.errors import DataError
from burnish.spec.values import Rows

WORDS, TAGS, DOCUMENT = "words", "tags", "document"
UNNAMED = "_"
_NEW_DOCUMENT = "-DOCSTART-"
_SHOWN = 2000


@dataclass
class _Sentence:
    """Lines that stand together, and the document they belong to."""

    document: str | None
    line: int = 0
    """Where the first word stands, from 1."""
    cells: list[list[str]] = field(default_factory=list)
    written: list[str] = field(default_factory=list)


def read_conll(
    buffer: pa.Buffer, *, name: str, columns: Sequence[str] = (), delimiter: str | None = None
) -> tuple[Rows, list[BadRow]]:
    """Give every sentence as a row of lists, one list a column, and those with a line of too few or too many cells.

    Without `columns`, the first one is `words` and the last one, if there are several, `tags`; one that is called _ is
    left out.
    """
    text = decoded(text_body(buffer, name=name).to_pybytes()).replace("\r\n", "\n")
    refuse_twins([column for column in columns if column != UNNAMED], name=name)
    sentences = list(_sentences(text, name=name, delimiter=delimiter))
    if not sentences:
        raise DataError(f"{name} holds no sentence")
    width = len(columns) or len(sentences[0].cells[0])
    faults = [(sentence, _fault(sentence, name=name, width=width)) for sentence in sentences]
    good = [sentence for sentence, fault in faults if fault is None]
    bad = [fault for _, fault in faults if fault is not None]
    numbers = np.array([sentence.line - 1 for sentence in good], dtype=np.int64)
    return from_file(_table(good, _named(columns, width)), name=name, first_line=1, numbers=numbers), bad


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


def _named(columns: Sequence[str], width: int) -> list[str | None]:
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
