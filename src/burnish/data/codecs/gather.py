"""Turns rows that are read one by one into columns, and keeps what was wrong with those that could not be read."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from burnish.data.codecs.columns import ColumnSpec, read_columns
from burnish.data.codecs.convert import Unfit, from_values
from burnish.data.codecs.decoded import DecodedRows, Fault, RowSource, assemble, refuse_too_many

Row = TypeVar("Row")


def gather(
    given: Sequence[Row],
    columns: Sequence[ColumnSpec],
    *,
    read: Callable[[Row, Sequence[str]], Mapping[str, Any]],
    lines: Sequence[int] | None = None,
) -> DecodedRows:
    """Read each row with `read`, which gives its values by name or raises Unfit."""
    names = [spec.name for spec in read_columns(columns)]
    good: list[Mapping[str, Any]] = []
    positions: list[int] = []
    broken: list[Fault] = []
    for at, each in enumerate(given):
        try:
            good.append(read(each, names))
            positions.append(at)
        except Unfit as error:
            broken.append((at, None, str(error)))
            refuse_too_many(broken, num_rows=len(given), lines=lines)
    converted = [from_values([row.get(spec.name) for row in good], spec) for spec in read_columns(columns)]
    unused = {name for row in good for name in row}.difference(spec.name for spec in columns)
    origin = RowSource(np.array(positions, dtype=np.int64), broken, lines)
    return assemble(columns, converted, origin=origin, unused=unused)
