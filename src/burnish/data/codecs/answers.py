"""Answers as bytes, one for each row in the order of the rows: the model's, or what was wrong with the row."""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from burnish.data.codecs.decoded import DecodedRows

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str)


def as_json_lines(rows: DecodedRows, answers: pa.Table) -> bytes:
    """Write one object a line."""
    return "".join(dump_json(each) + "\n" for each in order_answers(rows, answers)).encode()


def as_csv(rows: DecodedRows, answers: pa.Table, *, has_header: bool) -> bytes:
    """Write one line a row; a bad row has empty cells and, at the end, its error."""
    at = np.full(rows.num_rows, -1, dtype=np.int64)
    at[rows.numbers - 1] = np.arange(len(rows.numbers))
    table = flatten(answers).take(pa.array(at, mask=at < 0))
    if rows.errors:
        whys = _whys(rows)
        table = table.append_column("error", pa.array([whys.get(n) for n in range(1, rows.num_rows + 1)], pa.string()))
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink, pyarrow.csv.WriteOptions(include_header=has_header, quoting_style="needed"))
    return bytes(sink.getvalue().to_pybytes())


def order_answers(rows: DecodedRows, answers: pa.Table) -> list[dict[str, Any]]:
    """Put the answers and the errors in the order of the rows."""
    found: dict[int, dict[str, Any]] = {number: {"error": why} for number, why in _whys(rows).items()}
    found.update(zip(rows.numbers.tolist(), answers.to_pylist(), strict=True))
    return [found[number] for number in range(1, rows.num_rows + 1)]


def _whys(rows: DecodedRows) -> dict[int, str]:
    whys: dict[int, str] = {}
    for error in rows.errors:
        whys[error.row] = f"{whys[error.row]}; {error}" if error.row in whys else str(error)
    return whys


def dump_json(value: object, *, odd: Callable[[float], object] = str) -> str:
    """Write JSON, which has no numbers for nan and inf: by default these become text."""
    try:
        return _ENCODER.encode(value)
    except ValueError:
        return _ENCODER.encode(_finite(value, odd))


def _finite(value: object, odd: Callable[[float], object]) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return odd(value)
    if isinstance(value, dict):
        return {key: _finite(each, odd) for key, each in value.items()}
    return [_finite(each, odd) for each in value] if isinstance(value, list) else value


def flatten(table: pa.Table) -> pa.Table:
    """Spread a column of probabilities into one column a class, and any other nested column as JSON."""
    nested = [field.name for field in table.schema if pa.types.is_nested(field.type)]
    for name in nested:
        column = table[name].combine_chunks()
        at = table.column_names.index(name)
        table = table.remove_column(at)
        if bool(pa.types.is_struct(column.type)) and all(pa.types.is_floating(field.type) for field in column.type):
            for field, values in zip(column.type, column.flatten(), strict=True):
                table = table.append_column(free_name(f"probability_{field.name}", table), values)
        else:
            written = [json.dumps(value, ensure_ascii=False, default=str) for value in column.to_pylist()]
            table = table.append_column(name, pa.array(written))
    return table


def free_name(name: str, table: pa.Table) -> str:
    """Find a free name: a column's own, or a longer one if the table has a column of that name."""
    while name in table.column_names:
        name = f"burnish_{name}"
    return name
