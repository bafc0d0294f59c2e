"""Questions with their choices as they stand in a table: one column of lists, or a column a choice."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.errors import DataError
from burnish.spec.values import Array, RowFault, Rows
from burnish.tasks.labels import as_text, is_list
from burnish.tasks.token_classification.rows import TagItems, items_of

LabelForm = Literal["number", "letter", "text"]
_FITS = 0.9
"""Of so many rows the label must be one of the choices for a reading of it to fit."""
_LETTERS = pa.array([chr(ord("A") + number) for number in range(26)])
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_null)


@dataclass(frozen=True)
class ChoiceColumns:
    """Which columns hold what."""

    context: tuple[str, ...]
    question: str | None
    choices: tuple[str, ...]
    label: str

    @property
    def inputs(self) -> tuple[str, ...]:
        """Name all but the label."""
        return tuple(dict.fromkeys((*self.context, *([self.question] if self.question else []), *self.choices)))

    def contexts(self, table: pa.Table) -> pa.Array:
        """Return what stands before the choices; lists, such as turns of a talk, are joined by spaces."""
        return _joined([_as_text(table, name) for name in self.context])

    def options(self, table: pa.Table) -> TagItems:
        """Return the choices of every row."""
        if len(self.choices) == 1 and is_list(table.schema.field(self.choices[0]).type):
            return items_of(table[self.choices[0]], name=self.choices[0])
        # Blank cells at the end of a row are no choices.
        columns = [_as_text(table, name) for name in self.choices]
        num_rows = len(columns[0])
        order = np.arange(len(columns) * num_rows).reshape(len(columns), num_rows).T
        cells = pa.concat_arrays(columns).take(pa.array(order.ravel()))
        is_there = ~_is_blank(cells).reshape(num_rows, len(columns))
        lengths = np.where(is_there.any(axis=1), len(columns) - np.argmax(is_there[:, ::-1], axis=1), 0)
        keep = np.arange(len(columns)) < lengths[:, None]
        return TagItems(cells.filter(pa.array(keep.ravel())), lengths.astype(np.int64))

    def asked(self, table: pa.Table, options: TagItems) -> pa.Array:
        """Give each choice after its question."""
        if self.question is None:
            return options.flat
        questions = _as_text(table, self.question).take(pa.array(options.row_of))
        return _joined([questions, options.flat])

    def faults(self, table: pa.Table) -> Iterator[RowFault]:
        """List the rows with nothing to choose for, too few choices, or an empty one among them."""
        options, told = self.options(table), ", ".join(self.choices)
        before = _joined([self.contexts(table), *([_as_text(table, self.question)] if self.question else [])])
        for row in np.flatnonzero(_is_blank(before)).tolist():
            yield RowFault(
                row, f"{' and '.join((*self.context, *([self.question] if self.question else [])))} is empty"
            )
        for row in np.flatnonzero(options.lengths < 2).tolist():
            yield RowFault(row, f"has {_counted(int(options.lengths[row]))} in {told}, and at least 2 are needed")
        row_of, place_of = options.row_of, options.place_of
        for at in np.flatnonzero(_is_blank(options.flat)).tolist():
            yield RowFault(int(row_of[at]), f"choice {int(place_of[at]) + 1} in {told} is empty")


def _counted(number: int) -> str:
    return "1 choice" if number == 1 else f"{number or 'no'} choices"


@dataclass(frozen=True)
class ChoiceLabels:
    """The right choices of rows."""

    column: pa.Array
    options: TagItems
    form: str
    first: int
    """The number of the first choice, where choices are numbered."""

    @cached_property
    def numbers(self) -> "Array":
        """Give each row's right choice, counted from 0; -1 where the label is none of its choices."""
        if self.form == "text":
            row_of = self.options.row_of
            is_it = pc.equal(pc.utf8_trim_whitespace(self.options.flat), self.column.take(pa.array(row_of)))
            at = np.flatnonzero(pc.fill_null(is_it, False).to_numpy(zero_copy_only=False))
            numbers = np.full(len(self.options.lengths), -1, dtype=np.int64)
            numbers[row_of[at[::-1]]] = self.options.place_of[at[::-1]]  # the first of two equal choices
            return numbers
        if self.form == "letter":
            found = pc.index_in(pc.utf8_upper(self.column), value_set=_LETTERS)
        else:
            is_number = pc.match_substring_regex(self.column, r"^\d{1,9}$")
            found = pc.subtract(pc.if_else(is_number, self.column, None).cast(pa.int64()), self.first)
        numbers = np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
        return np.where((numbers >= 0) & (numbers < self.options.lengths), numbers, -1)

    def faults(self) -> Iterator[RowFault]:
        """List the rows whose label is none of their choices."""
        for row in np.flatnonzero(self.numbers < 0).tolist():
            value = self.column[row].as_py()
            yield RowFault(row, f"label {value!r} is not one of {self._known(row)}" if value else "the label is empty")

    def _known(self, row: int) -> str:
        count = int(self.options.lengths[row])
        if self.form == "number":
            return f"{self.first} to {self.first + count - 1}"
        if self.form == "letter":
            return f"A to {chr(ord('A') + max(0, count - 1))}"
        return "the choices of its row"


def label_form(rows: Rows, columns: ChoiceColumns, *, first: int) -> LabelForm:
    """Find how right choices are written: numbers, letters, or the choice itself; refuse labels that may be two."""
    column, options = as_text(rows.table, columns.label), columns.options(rows.table)
    place = _form_of_place(column.drop_null())
    if place is None:
        return "text"
    by_place, by_text = (ChoiceLabels(column, options, form, first).numbers for form in (place, "text"))
    shares = [float((numbers >= 0).mean()) for numbers in (by_place, by_text)]
    if min(shares) < _FITS:
        return place if shares[0] >= shares[1] else "text"
    others = np.flatnonzero((by_place != by_text) & (by_place >= 0) & (by_text >= 0))
    if not len(others):
        return place
    row = int(others[0])
    raise DataError(
        f"{rows.places.describe(row)}: label {column[row].as_py()!r} is choice {by_place[row] + 1} by its {place} and "
        f"choice {by_text[row] + 1} by its text, and the labels of the training rows can all be read either way; "
        f"set task.label_form: {place}, or task.label_form: text"
    )


def _form_of_place(values: pa.Array) -> Literal["number", "letter"] | None:
    if pc.all(pc.match_substring_regex(values, r"^\d+$")).as_py():
        return "number"
    return "letter" if pc.all(pc.match_substring_regex(values, r"^[A-Za-z]$")).as_py() else None


def _as_text(table: pa.Table, name: str) -> pa.Array:
    column = table[name].combine_chunks()
    if is_list(column.type) and not pa.types.is_nested(column.type.value_type):
        return pc.fill_null(pc.binary_join(column.cast(pa.list_(pa.string())), " "), "")
    if not any(is_text(column.type) for is_text in _TEXTS):
        raise DataError(f"task: the column `{name}` holds {column.type}, and text or a list of texts is needed")
    return pc.fill_null(column.cast(pa.string()), "")


def _joined(parts: Sequence[pa.Array]) -> pa.Array:
    if len(parts) == 1:
        return parts[0]
    return pc.utf8_trim_whitespace(pc.binary_join_element_wise(*parts, " "))


def _is_blank(texts: pa.Array) -> "Array":
    return np.asarray(pc.equal(pc.utf8_trim_whitespace(texts), "").to_numpy(zero_copy_only=False), dtype=bool)
