"""Reads CSV and TSV as columns of text: fast at first, exactly where that fails."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from burnish.data.columns.parse_columns import write_points
from burnish.data.inspection.faults import BadRow
from burnish.data.readers.encoding import NotUtf8
from burnish.data.readers.open_file import count, text_body
from burnish.data.readers.scan import CsvRecord, Dialect, decode_lossy, has_strict_quotes, lost_bytes, scan_records
from burnish.data.rows import from_file
from burnish.errors import DataError
from burnish.spec.values import Rows

_FIRST_BLOCK = 1 << 22
_LARGEST_BLOCK = (1 << 31) - 1
_HEAD = 1 << 16


@dataclass(frozen=True)
class HeaderShape:
    """What the first record tells: the columns, those to keep, and where the rows begin."""

    names: tuple[str, ...]
    wanted: tuple[str, ...]
    header_lines: int
    """The last line of the header; 0 without one."""
    is_late: bool
    """Whether blank lines come first, which the fast reader would take for the header."""


def read_delimited(buffer: pa.Buffer, *, name: str, dialect: Dialect) -> tuple[Rows, list[BadRow]]:
    """Read the rows of a file, and those that are broken."""
    body = _without_blank_end(text_body(buffer, name=name))
    shape = _shape(_first(body, dialect, name=name), dialect, name=name)
    rows = _fast(body, dialect, shape=shape, name=name)
    if rows is not None:
        return _some(rows, dialect, name=name), []
    rows, bad = _exact(body, dialect, shape=shape, name=name)
    return (rows if bad and not len(rows) else _some(rows, dialect, name=name)), bad


def find_shape(buffer: pa.Buffer, dialect: Dialect, *, name: str) -> HeaderShape:
    """Look at the first record of a file."""
    body = text_body(buffer, name=name)
    return _shape(_first(body, dialect, name=name), dialect, name=name)


def _some(rows: Rows, dialect: Dialect, *, name: str) -> Rows:
    if len(rows) == 0:
        raise DataError(f"{name} has a header and no rows")
    return rows if dialect.decimal == "." else replace(rows, table=write_points(rows.table, name=name))


def _without_blank_end(body: pa.Buffer) -> pa.Buffer:
    size = body.size
    while size and body[size - 1 : size].to_pybytes() in b"\r\n":
        size -= 1
    return body[:size]


def _first(body: pa.Buffer, dialect: Dialect, *, name: str) -> CsvRecord:
    record = _peek(body, dialect)
    if record is None:
        raise DataError(f"{name} is empty")
    if record.fault:
        fault = f"{name}:{record.line}: {record.fault}"
        raise NotUtf8(fault, record.raw) if lost_bytes(record.raw) else DataError(fault)
    return record


def _peek(body: pa.Buffer, dialect: Dialect) -> CsvRecord | None:
    size = _HEAD
    while size < body.size:
        head = scan_records(decode_lossy(body[:size].to_pybytes()), dialect)
        record, following = next(head, None), next(head, None)
        if record and following and not record.fault:  # so it was not cut short
            return record
        size *= 16
    return next(scan_records(decode_lossy(body.to_pybytes()), dialect), None)


def _shape(first: CsvRecord, dialect: Dialect, *, name: str) -> HeaderShape:
    found = tuple(field.strip() for field in first.fields)
    has_header = dialect.header
    if has_header is None:
        has_header = not dialect.columns or found == dialect.columns
    header_lines = first.line + first.raw.count("\n") if has_header else 0
    if dialect.columns:
        num_fields = len(found)
        num_extra = num_fields - len(dialect.columns)
        if num_extra < 0 or (num_extra and not dialect.is_ragged):
            raise DataError(
                f"{name}: the first row has {num_fields} fields, but {len(dialect.columns)} columns are named: "
                f"{', '.join(dialect.columns)}"
            )
        names = (*dialect.columns, *(f"extra{at}" for at in range(num_extra)))
        return HeaderShape(names, dialect.columns, header_lines, first.line > 1)
    fields = found if has_header else [""] * len(found)
    names = tuple(field or f"column{at}" for at, field in enumerate(fields, start=1))
    twins = [column for column in dict.fromkeys(names) if names.count(column) > 1]
    if twins:
        raise DataError(
            f"{name}:{first.line}: the header names {', '.join(f'`{twin}`' for twin in twins)} more than once; "
            f"give each column its own name, or name all with data.columns and data.header: true"
        )
    return HeaderShape(names, names, header_lines, first.line > 1)


def _fast(body: pa.Buffer, dialect: Dialect, *, shape: HeaderShape, name: str) -> Rows | None:
    """Read with Arrow; None if anything about the file calls for the exact way."""
    if dialect.quoting:
        # it glues to a field what follows its closing quote, and closes an open quote at the end of the file
        is_odd = not has_strict_quotes(memoryview(body), dialect.delimiter)
    else:
        is_odd = count(body, b"\r") != count(body, b"\r\n")  # a lone one is text, and it would end a row there
    table = None if shape.is_late or is_odd else _parse(body, dialect, shape=shape)
    if table is None:
        return None
    num_lines = count(body, b"\n") + 1
    first_line = shape.header_lines + 1
    if num_lines == shape.header_lines + table.num_rows:
        return from_file(table, name=name, first_line=first_line)
    inside = line_feeds(table)
    if num_lines != shape.header_lines + table.num_rows + int(inside.sum()):
        return None  # blank lines or lone carriage returns: only a scan tells which line is which
    before = np.concatenate([[0], np.cumsum(inside)[:-1]]) if len(inside) else inside
    return from_file(table, name=name, first_line=first_line, numbers=np.arange(len(inside)) + before)


def _parse(body: pa.Buffer, dialect: Dialect, *, shape: HeaderShape) -> pa.Table | None:
    block = _FIRST_BLOCK
    while True:
        try:
            return pa.csv.read_csv(pa.BufferReader(body), **csv_options(dialect, shape, block))
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error) or block > body.size or block == _LARGEST_BLOCK:
                return None
        block = min(block * 16, _LARGEST_BLOCK)  # one row is longer than a block


def csv_options(dialect: Dialect, shape: HeaderShape, block_size: int) -> dict[str, Any]:
    """Tell Arrow how a file is written; every column is text."""
    return {
        "read_options": pa.csv.ReadOptions(
            column_names=list(shape.names),
            skip_rows_after_names=1 if shape.header_lines else 0,
            block_size=block_size,
        ),
        "parse_options": pa.csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char='"' if dialect.quoting else False,
            newlines_in_values=dialect.quoting,
        ),
        "convert_options": pa.csv.ConvertOptions(
            column_types=dict.fromkeys(shape.names, pa.string()),
            include_columns=list(shape.wanted),
            strings_can_be_null=False,
        ),
    }


def line_feeds(table: pa.Table) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Count the line ends inside each row."""
    total = np.zeros(table.num_rows, dtype=np.int64)
    for column in table.columns:
        total += pc.count_substring(column, "\n").to_numpy()
    return total


def _exact(body: pa.Buffer, dialect: Dialect, *, shape: HeaderShape, name: str) -> tuple[Rows, list[BadRow]]:
    good: list[CsvRecord] = []
    bad: list[BadRow] = []
    wanted = len(shape.wanted)
    for record in scan_records(decode_lossy(body.to_pybytes()), dialect):
        if record.line <= shape.header_lines:
            continue
        fault = record.fault or _misfit(len(record.fields), wanted, is_ragged=dialect.is_ragged)
        if fault is None:
            good.append(record)
        else:
            bad.append(BadRow(name, record.line, fault, record.raw))
    columns = [pa.array([record.fields[at] for record in good], type=pa.string()) for at in range(wanted)]
    table = pa.table(columns, names=list(shape.wanted))
    lines = np.array([record.line - 1 for record in good], dtype=np.int64)
    return from_file(table, name=name, first_line=1, numbers=lines), bad


def _misfit(num_fields: int, wanted: int, *, is_ragged: bool) -> str | None:
    if num_fields == wanted or (is_ragged and num_fields > wanted):
        return None
    return f"has {num_fields} field{'s' * (num_fields != 1)}, but {wanted} are expected here"
