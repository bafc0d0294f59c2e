"""Values that a request lacks and every training row had: refused, or noted where that is allowed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.codecs.columns import ColumnSpec
from burnish.data.codecs.convert import is_missing
from burnish.errors import DataError
from burnish.nearest import nearest

_LISTED = 20
HOW_TO_ALLOW = "--allow-missing (in Python allow_missing=True) predicts without what is missing"


def count_missing(table: pa.Table, columns: Iterable[ColumnSpec]) -> dict[str, int]:
    """Count the rows without a value, by column, of columns of which every training row had one."""
    counts: dict[str, int] = {}
    for spec in columns:
        if not spec.always_given:
            continue
        count = _count(table[spec.name]) if spec.name in table.column_names else table.num_rows
        if count:
            counts[spec.name] = count
    return counts


def count_missing_in_rows(rows: Sequence[Mapping[str, Any]], columns: Iterable[ColumnSpec]) -> dict[str, int]:
    """Count the same in rows that were given one by one."""
    specs = [spec for spec in columns if spec.always_given]
    mappings = [row if isinstance(row, Mapping) else {} for row in rows]
    values = {spec.name: pa.array([_text(row.get(spec.name)) for row in mappings], pa.string()) for spec in specs}
    return count_missing(pa.table(values), specs)


def refuse_missing(counts: Mapping[str, int], *, num_rows: int, given: Iterable[str], columns: Sequence[str]) -> None:
    """Refuse rows that lack values, all columns at once; `given` are the names that the rows have."""
    if not counts:
        return
    others = [name for name in given if name not in columns]
    lines = []
    for name, count in list(counts.items())[:_LISTED]:
        meant = nearest(name, others)
        hint = f". Was it given as `{meant}`?" if meant else ""
        lines.append(f"  {name}: {_where(count, num_rows)}{hint}")
    if len(counts) > _LISTED:
        lines.append(f"  … and {len(counts) - _LISTED:,} more")
    what = "a value is" if len(counts) == 1 else f"values of {len(counts):,} columns are"
    raise DataError("\n".join([f"{what} missing that every training row had", *lines]) + f"\n{HOW_TO_ALLOW}")


def note_missing(counts: Mapping[str, int], columns: Iterable[ColumnSpec], *, num_rows: int) -> list[str]:
    """Say what was missing, and what the model took in its place."""
    specs = {spec.name: spec for spec in columns}
    return [
        f"`{name}` is missing in {_where(count, num_rows).removeprefix('in ')}, and every training row had it; "
        f"{_replacement(specs[name])}"
        for name, count in counts.items()
    ]


def _where(count: int, num_rows: int) -> str:
    if num_rows == 1:
        return "in the only row"
    return f"in all {num_rows:,} rows" if count == num_rows else f"in {count:,} of {num_rows:,} rows"


def _replacement(spec: ColumnSpec) -> str:
    return "its median is used" if spec.facts.get("fill") is not None else "it counts as missing"


def _count(column: pa.ChunkedArray) -> int:
    if pa.types.is_nested(column.type):
        return int(column.null_count)
    return sum(int(pc.sum(is_missing(chunk)).as_py() or 0) for chunk in column.chunks)


def _text(value: object) -> str | None:
    return None if value is None else str(value).encode(errors="replace").decode()
