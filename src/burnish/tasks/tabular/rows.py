"""Rows given one by one, as a request or a JSON file brings them, become the columns that a table's model reads."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.data.codecs.columns import ColumnSpec, Kind
from burnish.spec.values import Profile, RowFault
from burnish.tasks.tabular.encoder import TableEncoder, refuse_faults
from burnish.tasks.tabular.features import FrameEncoder
from burnish.tasks.tabular.frame import ColumnFrame
from burnish.tasks.tabular.plan import ColumnPlan, TablePlan

_SPEC_KINDS: Mapping[str, Kind] = {"number": "number", "boolean": "flag", "datetime": "time"}


def table_of_rows(rows: Sequence[Mapping[str, Any]], encoder: TableEncoder, *, columns: Sequence[str]) -> pa.Table:
    """Return the columns that prediction reads, all as text; a column that a row lacks is missing there.

    A missing value takes its column's default: the stated one, else the median of a number or the id of nothing.
    """
    names = [*columns, *(name for name in encoder.truth_columns if name not in columns)]
    refuse_faults([*_shapes(rows, columns)])
    given = [name for name in names if name in columns or any(name in row for row in rows)]
    table = pa.table({name: pa.array([_text(row.get(name)) for row in rows], pa.string()) for name in given})
    refuse_faults(
        [*_nested(rows, columns), *FrameEncoder(encoder.plan, ColumnFrame(table, encoder.derived)).faults(forgiven=0)]
    )
    return table


def column_specs(
    plan: TablePlan, profile: Profile, *, inputs: Sequence[str], texts: Sequence[str] = ()
) -> tuple[ColumnSpec, ...]:
    """Describe the columns in the order of the training file, without the target; only texts must be given.

    An artifact of an older version does not know this order.
    """
    plans = {column.name: column for column in plan.columns}
    order = profile.facts.get("order")
    return tuple(
        ColumnSpec(
            name,
            is_required=name in texts,
            is_read=name in inputs,
            always_given=name not in texts and _is_always_given(name, plans.get(name), profile),
            is_placed=order is not None,
            **(_known_of(plans[name]) if name in plans else {}),
        )
        for name in order or inputs
    )


def _is_always_given(name: str, column: ColumnPlan | None, profile: Profile) -> bool:
    """Tell whether every training row had a value; of a column without a plan, other columns are derived."""
    if column is None:
        return name in profile.facts.get("always_given", ())
    facts = column.facts
    has_gaps = any(facts.get(fact) for fact in ("missing", "unreadable", "infinite"))
    return column.default is None and "missing" in facts and not has_gaps


def _known_of(column: ColumnPlan) -> dict[str, Any]:
    kind = _SPEC_KINDS.get(column.kind, "text")
    facts = {**column.facts, "fill": column.fill if column.default is None else column.default}
    if kind == "time":
        facts |= {"day_first": column.day_first, "compact": column.compact}
    return {"kind": kind, "is_category": kind == "text", "values": column.vocabulary, "facts": facts}


def _shapes(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[RowFault]:
    """Find rows that are no rows of this table: a name nearly right would take a default unseen."""
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            yield RowFault(number, f"a mapping from column to value is needed, got {type(row).__name__}")
        elif not set(row) & set(columns):
            yield RowFault(number, f"none of the model's columns is given; they are {', '.join(columns)}")
        else:
            yield from _typos(number, row, columns)


def _typos(number: int, row: Mapping[str, Any], columns: Sequence[str]) -> Iterator[RowFault]:
    absent = [name for name in columns if name not in row]
    for name in row:
        near = get_close_matches(str(name), absent, n=1, cutoff=0.85) if name not in columns else []
        if near:
            yield RowFault(number, f"column {name}: the model has no such column. Did you mean `{near[0]}`?")


def _nested(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[RowFault]:
    for number, row in enumerate(rows):
        for name in columns:
            if isinstance(row.get(name), Mapping | list | tuple | set):
                yield RowFault(number, f"column {name}: one value is needed, got {str(row[name])[:60]}")


def _text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    return repr(float(value)) if isinstance(value, float | np.floating) else str(value)
