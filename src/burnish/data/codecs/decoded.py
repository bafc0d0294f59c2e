"""What comes of a payload: the rows that can be used, and what is wrong with the others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from burnish.data.codecs.columns import ColumnSpec, read_columns
from burnish.data.codecs.convert import Converted, settled
from burnish.errors import DataError
from burnish.spec.values import Array

MAX_ERRORS = 10_000
_LISTED = 100
_UNUSED_LISTED = 20
Fault = tuple[int, str | None, str]
"""Where a row stands in the payload, from 0; the column, if it is one; what is wrong."""


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

    def refuse_errors(self) -> None:
        """Raise DataError with every bad row, if there is any."""
        if self.errors:
            raise DataError(refusal(self.errors, num_rows=self.num_rows))


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
    arrays, faults = [], list(origin.broken)
    columns = read_columns(columns)
    is_good = np.ones(len(origin.positions), dtype=bool)
    for spec, each in zip(columns, converted, strict=True):
        final = settled(each, spec)
        arrays.append(final.array)
        is_good[list(final.faults)] = False
        faults.extend((int(origin.positions[at]), spec.name, what) for at, what in final.faults.items())
        refuse_too_many(faults, num_rows=origin.num_rows, lines=origin.lines)
    table = pa.table(arrays, names=[spec.name for spec in columns]).filter(pa.array(is_good))
    errors = tuple(_error(fault, origin.lines) for fault in sorted(faults, key=lambda fault: fault[0]))
    named = tuple(sorted(unused)[:_UNUSED_LISTED])
    return DecodedRows(table, origin.positions[is_good] + 1, origin.num_rows, errors, named)


def refusal(errors: Sequence[RowError], *, num_rows: int) -> str:
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
