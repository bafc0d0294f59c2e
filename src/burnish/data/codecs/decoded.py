"""From the bytes of a request to the rows that can be used, and what is wrong with the others."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from burnish.data.codecs.columns import ColumnSpec, read_columns
from burnish.data.codecs.convert import IS_MISSING, IS_NEVER_MISSING, Converted, Unfit, from_values, settle_missing
from burnish.data.readers.open_file import text_body
from burnish.data.readers.scan import decode_lossy, lost_byte
from burnish.errors import DataError
from burnish.nearest import nearest
from burnish.spec.values import Array

MAX_ERRORS = 10_000
_LISTED = 100
_UNUSED_LISTED = 20
Fault = tuple[int, str | None, str]
"""Where a row stands in the payload, from 0; the column, if it is one; what is wrong."""
Row = TypeVar("Row")
NAME = "the payload"


class MissingColumns(DataError):
    """Refuse a payload of which no row has a value in some columns."""

    def __init__(self, sentence: str, *, may_be_allowed: bool) -> None:
        super().__init__(sentence)
        self.may_be_allowed = may_be_allowed
        """Whether a prediction can do without all of them."""


@dataclass(frozen=True)
class RowError:
    """What is wrong with a row, or with one of its values."""

    row: int
    """The number of the row in the payload, from 1."""
    what: str
    column: str | None = None
    line: int | None = None
    """The line it begins on, where rows stand on lines."""

    def __str__(self) -> str:
        place = f"row {self.row}" if self.line is None else f"row {self.row} (line {self.line})"
        return f"{place}: {self.what}" if self.column is None else f"{place}, {self.column}: {self.what}"


@dataclass(frozen=True)
class DecodedRows:
    """Rows as columns; only those that can be used are in the table."""

    table: pa.Table
    numbers: "Array"
    """For each row of the table, its number in the payload, from 1."""
    num_rows: int
    """How many rows the payload has, usable or not."""
    errors: tuple[RowError, ...] = ()
    """In the order of the rows."""
    unused: tuple[str, ...] = ()
    """Names in the payload that no column has, at most twenty."""

    @property
    def lacks_given(self) -> bool:
        """Tell whether a row was refused for a value that it lacks and every training row had."""
        return any(error.what.startswith(IS_NEVER_MISSING) for error in self.errors)

    def split(self, counts: Sequence[int]) -> "list[DecodedRows]":
        """Cut rows of several payloads apart, by the number of rows of each; errors count from 1 in their own."""
        if len(counts) == 1:
            return [self]
        ends = np.cumsum(counts)
        places = np.searchsorted(self.numbers, [0, *ends], side="right")
        errors: dict[int, list[RowError]] = {}
        for error in self.errors:
            payload = int(np.searchsorted(ends, error.row))
            row = error.row - int(ends[payload]) + counts[payload]
            errors.setdefault(payload, []).append(replace(error, row=row))
        return [
            DecodedRows(
                self.table.slice(low, high - low),
                self.numbers[low:high] - (end - count),
                count,
                tuple(errors.get(payload, ())),
                self.unused,
            )
            for payload, (low, high, end, count) in enumerate(zip(places[:-1], places[1:], ends, counts, strict=True))
        ]


@dataclass(frozen=True)
class RowSource:
    """Where values stood: the position of each good row in the payload, the bad rows, and lines if there are any."""

    positions: "Array"
    broken: Sequence[Fault]
    lines: Sequence[int] | None = None

    @property
    def num_rows(self) -> int:
        """Count all rows."""
        return len(self.positions) + len(self.broken)


def assemble(
    columns: Sequence[ColumnSpec], converted: Sequence[Converted], *, origin: RowSource, unused: Iterable[str] = ()
) -> DecodedRows:
    """Put converted columns together, those that are read, and leave out every row in which something is wrong."""
    arrays, faults, named = [], list(origin.broken), tuple(sorted(unused)[:_UNUSED_LISTED])
    columns = read_columns(columns)
    _refuse_absent(columns, converted, names=named)
    is_good = np.ones(len(origin.positions), dtype=bool)
    for spec, each in zip(columns, converted, strict=True):
        final = settle_missing(each, spec)
        arrays.append(final.array)
        is_good[list(final.faults)] = False
        meant = nearest(spec.name, named) if final.faults else None
        for at, what in final.faults.items():
            hint = f". Was it sent as `{meant}`?" if meant and what.startswith(IS_MISSING) else ""
            faults.append((int(origin.positions[at]), spec.name, f"{what}{hint}"))
        refuse_too_many(faults, num_rows=origin.num_rows, lines=origin.lines)
    table = pa.table(arrays, names=[spec.name for spec in columns]).filter(pa.array(is_good))
    errors = tuple(_error(fault, origin.lines) for fault in sorted(faults, key=lambda fault: fault[0]))
    return DecodedRows(table, origin.positions[is_good] + 1, origin.num_rows, errors, named)


def _refuse_absent(columns: Sequence[ColumnSpec], converted: Sequence[Converted], *, names: Sequence[str]) -> None:
    """Name the columns that no row has, where a sentence for each row and column would be too many to name them all."""
    num_rows = len(converted[0].array) if converted else 0
    absent = [
        spec
        for spec, each in zip(columns, converted, strict=True)
        if (spec.must_be_given or spec.always_given) and each.array.null_count == num_rows and not each.faults
    ]
    if len(absent) * num_rows <= MAX_ERRORS or not any(spec.always_given for spec in absent):
        return
    lines = [f"none of the {num_rows:,} rows has a value in {len(absent)} of the columns that are needed"]
    for spec in absent:
        meant = nearest(spec.name, names)
        lines.append(f"  {spec.name}" + (f". Was it sent as `{meant}`?" if meant else ""))
    raise MissingColumns("\n".join(lines), may_be_allowed=not any(spec.must_be_given for spec in absent))


def explain_errors(errors: Sequence[RowError], *, num_rows: int) -> str:
    """Say which rows cannot be used, one line for each thing that is wrong."""
    num_bad = len({error.row for error in errors})
    count = f"{num_bad:,} of {num_rows:,} rows cannot be used" if num_rows > 1 else "the only row cannot be used"
    more = [f"  … and {len(errors) - _LISTED:,} more"] if len(errors) > _LISTED else []
    return "\n".join([count, *(f"  {error}" for error in errors[:_LISTED]), *more])


def refuse_too_many(faults: Sequence[Fault], *, num_rows: int, lines: Sequence[int] | None) -> None:
    """Refuse shortly a payload in which little fits, before there are a million sentences about it."""
    if len(faults) > MAX_ERRORS:
        shown = "".join(f"\n  {_error(fault, lines)}" for fault in faults[:10])
        raise DataError(f"more than {MAX_ERRORS:,} values of {num_rows:,} rows cannot be used; the first are{shown}")


def _error(fault: Fault, lines: Sequence[int] | None) -> RowError:
    row, column, what = fault
    return RowError(row + 1, what, column, None if lines is None else lines[row])


def gather(
    given: Sequence[Row],
    columns: Sequence[ColumnSpec],
    *,
    read: Callable[[Row, Sequence[str]], Mapping[str, Any]],
    lines: Sequence[int] | None = None,
) -> DecodedRows:
    """Read each row with `read`, which gives its values by name or raises Unfit."""
    names = [spec.name for spec in read_columns(columns)]
    may_lack_all = not any(spec.must_be_given for spec in columns)
    good: list[Mapping[str, Any]] = []
    positions: list[int] = []
    broken: list[Fault] = []
    for at, each in enumerate(given):
        try:
            row = read(each, names)
            if may_lack_all and not any(name in row for name in names):  # wrong names would take every default unseen
                raise Unfit(f"none of the model's columns is given; they are {', '.join(names)}")
            good.append(row)
            positions.append(at)
        except Unfit as error:
            broken.append((at, None, str(error)))
            refuse_too_many(broken, num_rows=len(given), lines=lines)
    converted = [from_values([row.get(spec.name) for row in good], spec) for spec in read_columns(columns)]
    unused = set().union(*good).difference(spec.name for spec in columns)
    origin = RowSource(np.array(positions, dtype=np.int64), broken, lines)
    return assemble(columns, converted, origin=origin, unused=unused)


@dataclass(frozen=True)
class Limits:
    """How much is read at once. Parsing takes memory in proportion: many times the bytes of a payload of tiny rows."""

    payload_bytes: int = 16 << 20
    rows: int = 250_000
    """Where rows stand on lines, lines are counted."""

    def check(self, payload: bytes) -> None:
        """Refuse a payload that is too large."""
        if len(payload) > self.payload_bytes:
            raise DataError(
                f"the payload has {len(payload):,} bytes, but only {self.payload_bytes:,} are read at once; "
                "send it in parts"
            )

    def check_rows(self, count: int, *, what: str = "rows") -> None:
        """Refuse too many rows before anything is made of them."""
        if count > self.rows:
            raise DataError(
                f"the payload has {count:,} {what}, but only {self.rows:,} are read at once; send it in parts"
            )


DEFAULT_LIMITS = Limits()


def decode_text(payload: bytes) -> str:
    """Decode the text of a payload without a byte-order mark; refuse what is no UTF-8, with its line."""
    try:
        text = payload.decode()
        if text and not text.startswith("\ufeff") and not text.isspace():
            return text
    except UnicodeDecodeError:
        pass  # the other way finds out where
    text = decode_lossy(text_body(pa.py_buffer(payload), name=NAME).to_pybytes())
    lost = lost_byte(text)
    if lost is not None:
        line = next(n for n, each in enumerate(text.split("\n"), start=1) if lost_byte(each))
        raise DataError(f"{NAME}, line {line}: {lost.replace('save the file as', 'send it as')}")
    if not text.strip():
        raise DataError(f"{NAME} is empty")
    return text
