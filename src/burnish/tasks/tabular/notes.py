"""Says what is used for columns that rows to predict lack, and for cells that cannot be read."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from burnish.data.cache.spill import in_parts
from burnish.data.columns.parse_columns import describe_cell
from burnish.spec.values import Rows
from burnish.tasks.tabular.features import FrameEncoder
from burnish.tasks.tabular.frame import ColumnFrame
from burnish.tasks.tabular.options import Derived
from burnish.tasks.tabular.plan import ColumnPlan, TablePlan

_NAMED = 3


def default_notes(
    rows: Rows, plan: TablePlan, *, inputs: Sequence[str] = (), derived: Mapping[str, Derived] | None = None
) -> list[str]:
    """Give a sentence for each kind of absent column, and for each column with cells that cannot be read."""
    absent = [name for name in inputs if name not in rows.table.column_names]
    return [*_about_absent(rows, plan, absent), *_about_unread(rows, plan, derived or {})]


def _about_absent(rows: Rows, plan: TablePlan, absent: Sequence[str]) -> Iterator[str]:
    columns = {column.name: column for column in plan.columns}
    replaced: dict[tuple[str, str], list[str]] = {}
    for name in absent:
        replaced.setdefault(_replacement(columns.get(name)), []).append(name)
    count = len(rows)
    where = "its only row" if count == 1 else f"all {count:,} rows"
    for (one, several), names in replaced.items():
        is_one = len(names) == 1
        verb, words = ("is", one) if is_one else ("are", several)
        yield f"{_listed(names)} {verb} not in {', '.join(rows.places.files[:_NAMED])}; {words} in {where}"


def _replacement(column: ColumnPlan | None) -> tuple[str, str]:
    """Say what is used for an absent column, and for several; without a plan it is only computed from."""
    if column is None:
        return "what is computed from it is missing", "what is computed from them is missing"
    if column.default is not None:
        return (f"its default {column.default!r} is used", f"their default {column.default!r} is used")
    if column.kind in ("number", "datetime"):
        return "its median is used", "their medians are used"
    return "it counts as missing", "they count as missing"


def _about_unread(rows: Rows, plan: TablePlan, derived: Mapping[str, Derived]) -> Iterator[str]:
    counts: dict[str, int] = {}
    first: dict[str, str] = {}
    for start, part in in_parts(rows):
        frame = ColumnFrame(part.table, derived)
        FrameEncoder(plan, frame).read()
        for name, is_wrong in frame.unread().items():
            counts[name] = counts.get(name, 0) + int(is_wrong.sum())
            row = int(np.flatnonzero(is_wrong)[0])
            first.setdefault(name, f"{describe_cell(frame.column(name), row)} at {rows.places.describe(start + row)}")
    for name, count in counts.items():
        cells = "a cell" if count == 1 else f"{count:,} cells"
        verb = "counts" if count == 1 else "count"
        yield f"{cells} of `{name}` cannot be read and {verb} as missing, first {first[name]}"


def _listed(names: Sequence[str]) -> str:
    shown = [f"`{name}`" for name in names[: _NAMED if len(names) > _NAMED + 1 else None]]
    rest = len(names) - len(shown)
    last = f"{rest} more" if rest else shown.pop()
    return f"{', '.join(shown)} and {last}" if shown else last
