"""Rows as CSV, with a header that names the columns or without one, in their order."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from burnish.data.codecs.answers import as_csv
from burnish.data.codecs.columns import ColumnSpec, cell_names, read_columns
from burnish.data.codecs.convert import TYPES, Converted, from_cells
from burnish.data.codecs.decoded import DEFAULT_LIMITS, NAME, DecodedRows, Limits, MissingColumns, RowSource, assemble
from burnish.data.inspection.faults import BadRow
from burnish.data.readers.open_file import text_body
from burnish.data.readers.read_delimited import read_delimited
from burnish.data.readers.scan import Dialect, decode_lossy, scan_records
from burnish.errors import DataError
from burnish.nearest import nearest
from burnish.spec.values import Rows

_HEAD = 1 << 20


@dataclass(frozen=True)
class Csv:
    """Comma-separated rows; quotes enclose commas, quotes and line ends; blank lines are passed over."""

    has_header: bool = True

    def decode(self, payload: bytes, columns: Sequence[ColumnSpec], *, limits: Limits = DEFAULT_LIMITS) -> DecodedRows:
        """Read the rows, by their header or in the order of the columns."""
        names = None if self.has_header else cell_names(columns)
        limits.check_rows(payload.count(b"\n"), what="lines")
        body = text_body(pa.py_buffer(payload), name=NAME)
        if not body.to_pybytes().strip():
            raise DataError(f"{NAME} is empty")
        header = io.StringIO()
        if names is None:
            _check_header(decode_lossy(body[: min(_HEAD, body.size)].to_pybytes()), columns)
        else:
            csv.writer(header, lineterminator="\n").writerow(names)
            body = pa.py_buffer(header.getvalue().encode() + body.to_pybytes())
        rows, bad = read_delimited(body, name=NAME, dialect=Dialect(header=True))
        if names is not None:
            bad = [replace(row, why=row.why.replace("expected here", f"expected: {', '.join(names)}")) for row in bad]
        return _decode(rows, bad, columns, header_lines=header.getvalue().count("\n"))

    def encode(self, rows: DecodedRows, answers: pa.Table) -> bytes:
        """Write the answers, with a header if the rows had one; `error` is a column if there are any."""
        return as_csv(rows, answers, has_header=self.has_header)


def _check_header(text: str, columns: Sequence[ColumnSpec]) -> None:
    first = next(scan_records(text, Dialect()), None)
    found = [field.strip() for field in first.fields] if first and not first.fault else []
    twins = [name for name in dict.fromkeys(found) if name and found.count(name) > 1]
    if twins:
        named = ", ".join(f"`{twin}`" for twin in twins)
        raise DataError(f"the header names {named} more than once; each column needs its own name")
    missing = [spec for spec in columns if (spec.must_be_given or spec.always_given) and spec.name not in found]
    if found and not set(found) & {spec.name for spec in read_columns(columns)}:
        right = ", ".join(spec.name for spec in columns)
        raise DataError(
            f"the first line names none of the columns {right}; it is {_show(found)}. "
            "If the rows have no header, `csv_rows` reads them in the order of these columns"
        )
    if found and missing:
        near = {spec.name: nearest(spec.name, found) for spec in missing}
        there = f"; it has {_show(found)}"
        hints = {name: f". Did you mean `{close}`?" if close else there for name, close in near.items()}
        raise MissingColumns(
            "\n".join(f"the header has no `{name}`{hint}" for name, hint in hints.items()),
            may_be_allowed=not any(spec.must_be_given for spec in missing),
        )


def _show(names: Sequence[str]) -> str:
    text = ", ".join(names[:20])
    return text if len(text) <= 200 else text[:199] + "…"


def _decode(rows: Rows, bad: Sequence[BadRow], columns: Sequence[ColumnSpec], *, header_lines: int) -> DecodedRows:
    good_lines = rows.places.numbers + rows.places.first_lines[0] - header_lines
    bad_lines = np.array([(row.line or 0) - header_lines for row in bad], dtype=np.int64)
    lines = np.sort(np.concatenate([good_lines, bad_lines]))
    whys = [row.why.replace("save the file as", "send it as") for row in bad]
    broken = [(at, None, why) for at, why in zip(np.searchsorted(lines, bad_lines).tolist(), whys, strict=True)]
    there = rows.table.column_names
    converted = [
        from_cells(rows.table[spec.name], spec)
        if spec.name in there
        else Converted(pa.nulls(len(rows), TYPES[spec.kind]))
        for spec in read_columns(columns)
    ]
    origin = RowSource(np.searchsorted(lines, good_lines), broken, lines.tolist())
    return assemble(columns, converted, origin=origin, unused=set(there) - {spec.name for spec in columns})
