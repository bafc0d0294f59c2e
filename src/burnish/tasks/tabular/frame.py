"""A table's columns, and those derived from them, read once each as what is asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from burnish.data.columns.datetimes import CompactForm
from burnish.data.columns.evaluate import evaluate
from burnish.data.columns.expression import parse
from burnish.data.columns.parse_columns import (
    ParsedNumbers,
    Words,
    parse_flags,
    parse_numbers,
    parse_times,
    parse_words,
)
from burnish.errors import ConfigError, DataError, Problem
from burnish.spec.values import Array, Rows
from burnish.tasks.tabular.options import Derived

T = TypeVar("T")


@dataclass(frozen=True)
class ColumnFrame:
    """Columns by name; a column that the table lacks is missing in every row."""

    table: pa.Table
    derived: Mapping[str, Derived] = field(default_factory=dict)
    release: Callable[[], None] = lambda: None
    """Give back the memory of what was looked at, for a table that lies in a file."""
    _read: dict[tuple[str, str], Any] = field(default_factory=dict, compare=False)
    """What was read already: several features share a column."""
    strays: dict[str, "Array"] = field(default_factory=dict, compare=False)
    """Rows whose cell could not be read as what an expression or a function takes its column for, by column."""
    dates: set[str] = field(default_factory=set, compare=False)
    """Columns that an expression or a function took for times."""

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def column(self, name: str) -> pa.ChunkedArray | pa.Array:
        """Return a column as it stands, or as it is computed."""
        return self._once("column", name, lambda: self._column(name))

    def words(self, name: str) -> Words:
        """Read a column as text."""
        return self._once("words", name, lambda: _named(name, parse_words, self.column(name)))

    def numbers(self, name: str) -> ParsedNumbers:
        """Read a column as numbers."""
        return self._once("numbers", name, lambda: _named(name, parse_numbers, self.column(name)))

    def flags(self, name: str) -> ParsedNumbers:
        """Read a column as yes and no."""
        return self._once("flags", name, lambda: _named(name, parse_flags, self.column(name)))

    def times(self, name: str, *, day_first: bool = False, compact: CompactForm = "") -> ParsedNumbers:
        """Read a column as seconds since 1970."""
        read_times = partial(parse_times, day_first=day_first, compact=compact)
        return self._once(f"times {day_first} {compact}", name, lambda: _named(name, read_times, self.column(name)))

    def number(self, name: str) -> "Array":
        """Return a column's numbers to an expression."""
        values = self._noted(name, self.numbers(name))
        return np.where(np.isfinite(values), values, np.nan)

    def time(self, name: str) -> "Array":
        """Return a column's times to an expression."""
        self.dates.add(name)
        return self._noted(name, self.times(name))

    def _noted(self, name: str, read: ParsedNumbers) -> "Array":
        if read.is_wrong.any():
            self.strays[name] = np.flatnonzero(read.is_wrong)
        return read.values

    def text(self, name: str) -> pa.Array:
        """Return a column's text to an expression."""
        read = self.words(name)
        return pa.concat_arrays([read.values, pa.array([None], pa.string())]).take(
            pa.array(np.where(read.codes < 0, len(read.values), read.codes))
        )

    def unread(self) -> "dict[str, Array]":
        """Mark the rows of each column that was read as numbers, flags or times and holds something else."""
        read = {name: each for (_how, name), each in self._read.items() if isinstance(each, ParsedNumbers)}
        return {name: each.is_wrong for name, each in read.items() if each.is_wrong.any()}

    def forget(self, name: str) -> None:
        """Let go of what was read of a column; it is read again if it is asked for again."""
        for how, column in list(self._read):
            if column == name:
                del self._read[how, column]
        self.release()

    def _column(self, name: str) -> pa.ChunkedArray | pa.Array:
        if name in self.derived:
            how = self.derived[name]
            if how.expression is not None:
                values = evaluate(parse(how.expression), self)
                known = values[~np.isnan(values)]
                array = pa.array(values, from_pandas=True)
                # As whole numbers if they all are, so that 1.0 and 1 are one class.
                is_whole = (
                    len(known) and bool(np.all(known == np.round(known))) and float(np.abs(known).max()) < 2.0**53
                )
                return array.cast(pa.int64()) if is_whole else array
            assert how.function is not None  # one of the two is given
            given = [self._given(column, reading) for column, reading in how.inputs.items()]
            return _checked(_call(how.function, name, given), name, how.function, num_rows=len(self))
        if name in self.table.column_names:
            return self.table[name]
        return pa.nulls(len(self), pa.string())

    def _given(self, column: str, reading: str) -> "Array":
        if reading == "text":
            return np.asarray(self.text(column).to_numpy(zero_copy_only=False))
        return self.number(column) if reading == "number" else self.time(column)

    def _once(self, how: str, name: str, read: Callable[[], T]) -> T:
        if (how, name) not in self._read:
            self._read[how, name] = read()
        return self._read[how, name]  # type: ignore[no-any-return]  # what `read` gave


def frame_of(rows: Rows, derived: Mapping[str, Derived] | None = None) -> ColumnFrame:
    """Return the columns of rows that may lie in a file."""
    held = rows.held

    def release() -> None:
        if held is not None:
            held.release()
            pa.default_memory_pool().release_unused()  # text that was read as numbers is as large as the column

    return ColumnFrame(rows.table, derived or {}, release)


def _named(name: str, read: Callable[[Any], T], column: pa.ChunkedArray | pa.Array) -> T:
    try:
        return read(column)
    except DataError as error:
        raise DataError(str(error).replace("a column holds", f"the column `{name}` holds", 1)) from error


def _call(address: str, name: str, arguments: "list[Array]") -> object:
    function = _function(address, name)
    try:
        return function(*arguments)
    except Exception as error:  # whatever a user's code raises, the place and the sentence are what helps
        raise DataError(f"task.derived.{name}: {address} failed: {type(error).__name__}: {error}") from error


def _function(address: str, name: str) -> Callable[..., Any]:
    module, _, attribute = address.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError([Problem(f"task.derived.{name}.function: {address} could not be loaded: {error}")]) from error
    if not callable(found):
        raise ConfigError([Problem(f"task.derived.{name}.function: {address} is no function")])
    return found  # type: ignore[no-any-return]  # checked by the line above


def _checked(result: object, name: str, address: str, *, num_rows: int) -> pa.Array:
    try:
        array = result if isinstance(result, pa.Array) else pa.array(np.asarray(result), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"task.derived.{name}: {address} gave no array of numbers or text: {error}") from error
    if len(array) != num_rows:
        raise DataError(f"task.derived.{name}: {address} gave {len(array)} values for {num_rows} rows")
    return array
