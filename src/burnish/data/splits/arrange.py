"""Turns what was read into splits: by column, by portion, grouped, stratified, limited."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.columns.parse_columns import is_opaque
from burnish.data.columns.parse_columns import parse_numbers as number_cells
from burnish.data.options import NAMES, Limit, Portion, SplitPlan
from burnish.data.rows import count_values, demand, keep, number_values
from burnish.data.splits.splits import Mask, Numbers, carve, carve_groups, sample
from burnish.errors import DataError
from burnish.spec.protocols import DataRequest
from burnish.spec.values import Rows, Splits

SPELLINGS: Mapping[str, str] = {
    **dict.fromkeys(["train", "training", "tr"], "train"),
    **dict.fromkeys(["validation", "valid", "val", "dev", "development", "eval"], "validation"),
    **dict.fromkeys(["test", "testing", "holdout", "held-out", "held_out"], "test"),
}
_DEFAULT = Portion(0.1)
_MOST_CLASSES = 1000


@dataclass(frozen=True)
class PlainRequest:
    """A request of its own, where no run is the one that asks."""

    seed: int
    stratify: str | None
    columns: tuple[str, ...] = ()
    quarantine: Path | None = None


@dataclass(frozen=True)
class Arranged:
    """The splits by name, and a sentence on how validation came to be."""

    parts: Mapping[str, Rows]
    note: str
    is_stratified: bool = False
    """Whether what was taken of train holds its classes in proportion."""


def arrange(parts: Mapping[str, Rows], *, plan: SplitPlan, limit: Limit, request: DataRequest) -> Arranged:
    """Arrange train, validation and perhaps test, each checked and limited."""
    for rows in parts.values():
        demand(rows, request.columns, why="task")
    divided = _by_column(parts["train"], plan.by) if plan.by else dict(parts)
    note = _origin(divided, plan)
    carved = _carve(divided, plan, request=request)
    divided = dict(carved.parts)
    _refuse_crossing(divided, plan.group)
    names = [name for name in NAMES if name in divided] + [name for name in parts if name not in NAMES]
    limited = {name: _limit({**parts, **divided}[name], name, limit, request=request) for name in names}
    for name, rows in limited.items():
        if len(rows) == 0:
            raise DataError(f"the {name} split has no rows; look at data.filter and data.split")
    return Arranged(limited, carved.note or note, carved.is_stratified)


def finish(arranged: Arranged, *, facts: Mapping[str, object], fingerprint: str, digests: Mapping[str, str]) -> Splits:
    """Put the value together that the run goes on with."""
    parts = arranged.parts
    counted = {"rows": {name: len(rows) for name, rows in parts.items()}, "validation": arranged.note}
    others = {name: rows for name, rows in parts.items() if name not in NAMES}
    named = (parts["train"], parts["validation"], parts.get("test"))
    return Splits(*named, {**counted, **facts}, fingerprint, others, digests)


def _by_column(rows: Rows, column: str) -> dict[str, Rows]:
    demand(rows, (column,), why="data.split.by")
    numbers, distinct = number_values(rows.table.column(column))
    values = [str(value) for value in distinct]
    found = {value: SPELLINGS.get(value.strip().lower()) for value in values}
    strange = [value for value, split in found.items() if split is None]
    if strange:
        listed = ", ".join(repr(value) for value in strange[:5]) + (" …" if len(strange) > 5 else "")
        raise DataError(
            f"data.split.by: the column `{column}` holds {listed}, which is not a split; "
            f"use train, validation (or valid, val, dev) and test"
        )
    splits = np.array([found[value] for value in values])[numbers]
    if "train" not in splits:
        raise DataError(f"data.split.by: no row of the column `{column}` says train")
    return {name: keep(rows, splits == name) for name in NAMES if name in splits}


def _origin(parts: Mapping[str, Rows], plan: SplitPlan) -> str:
    if "validation" not in parts:
        return ""
    return f"by the column {plan.by}" if plan.by else "as given"


def _carve(parts: Mapping[str, Rows], plan: SplitPlan, *, request: DataRequest) -> Arranged:
    wanted = {"test": plan.test, "validation": plan.validation}
    if "validation" not in parts and plan.validation is None:
        wanted["validation"] = _DEFAULT
    portions = {name: portion for name, portion in wanted.items() if portion is not None}
    if not portions:
        return Arranged(parts, "")
    for name in portions:
        if name in parts:
            where = f"the column {plan.by}" if plan.by else "the source"
            raise DataError(f"data.split.{name}: {where} already gives a {name} split; remove one of the two")
    train = parts["train"]
    num_rows = len(train)
    sizes = [portion.of(num_rows) for portion in portions.values()]
    if sum(sizes) >= num_rows:
        asked = " and ".join(f"{portion} for {name}" for name, portion in portions.items())
        rows = "row" if num_rows == 1 else "rows"
        raise DataError(f"data.split: train has {num_rows:,} {rows}, too few to take {asked} and keep any")
    classes = _classes(train, request.stratify)
    assigned = _assign(train, sizes, classes=classes, group=plan.group, seed=request.seed)
    divided = {name: keep(train, assigned == index) for index, name in enumerate(portions, start=1)}
    by_class = f", stratified by {request.stratify}" if classes is not None else ""
    by_group = f", grouped by {' and '.join(plan.group)}" if plan.group else ""
    how = f"{by_class}{by_group}, seed {request.seed}"
    note = f"{portions['validation']} of train{how}" if "validation" in portions else ""
    return Arranged({**parts, "train": keep(train, assigned == 0), **divided}, note, classes is not None)


def _classes(rows: Rows, column: str | None) -> Numbers | None:
    """Number the classes of the label, if it has classes: words that come back, or few enough numbers."""
    if column is None or column not in rows.table.column_names:
        return None
    values = rows.table.column(column)
    numbers, count = count_values(values)
    most = len(rows) // 2 if (not is_opaque(values.type) and number_cells(values).fits()) else len(rows) - 1
    return numbers if 1 < count <= min(_MOST_CLASSES, most) else None


def _assign(rows: Rows, sizes: Sequence[int], *, classes: Numbers | None, group: tuple[str, ...], seed: int) -> Numbers:
    if not group:
        return carve(len(rows), sizes, classes=classes, seed=seed)
    groups, count = _groups(rows, group)
    if count <= len(sizes):
        raise DataError(
            f"data.split.group: {' and '.join(group)} holds {count} group{'s' * (count != 1)}, "
            f"too few for {len(sizes) + 1} splits"
        )
    return carve_groups(groups, sizes, classes=classes, seed=seed)


def _groups(rows: Rows, columns: tuple[str, ...]) -> tuple[Numbers, int]:
    demand(rows, columns, why="data.split.group")
    numbers, count = count_values(rows.table.column(columns[0]))
    for column in columns[1:]:
        more, times = count_values(rows.table.column(column))
        _, numbers = np.unique(numbers * times + more, return_inverse=True)
        count = int(numbers.max()) + 1 if len(numbers) else 0
    alone = _is_alone(rows, columns)
    if alone.any():
        numbers = np.where(alone, count + np.arange(len(numbers)), numbers)
        _, numbers = np.unique(numbers, return_inverse=True)
        count = int(numbers.max()) + 1
    return numbers, count


def _is_alone(rows: Rows, columns: tuple[str, ...]) -> Mask:
    """Tell which rows name a group in none of the columns: each of them is its own group, not all of them one."""
    return np.asarray(np.all([_is_blank(rows.table.column(name)) for name in columns], axis=0))


def _is_blank(column: pa.ChunkedArray) -> Mask:
    blank = column.is_null(nan_is_null=True)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        blank = pc.or_(blank, pc.fill_null(pc.equal(pc.utf8_trim_whitespace(column), ""), False))
    return np.asarray(blank.to_numpy())


def _refuse_crossing(parts: Mapping[str, Rows], group: tuple[str, ...]) -> None:
    if not group:
        return
    members = {name: _members(rows, group) for name, rows in parts.items()}
    for first, second in (("train", "validation"), ("train", "test"), ("validation", "test")):
        shared = members.get(first, set()) & members.get(second, set())
        if shared:
            sample_ = ", ".join(sorted(" / ".join(map(str, key)) for key in shared)[:5])
            raise DataError(
                f"data.split.group: {len(shared):,} groups of {' and '.join(group)} are in both {first} and {second}, "
                f"like {sample_}; fix the files, or leave data.split.group out if that is meant"
            )


def _members(rows: Rows, group: tuple[str, ...]) -> set[tuple[object, ...]]:
    demand(rows, group, why="data.split.group")
    columns = [rows.table.column(name).filter(pa.array(~_is_alone(rows, group))).to_pylist() for name in group]
    return set(zip(*columns, strict=True))


def _limit(rows: Rows, name: str, limit: Limit, *, request: DataRequest) -> Rows:
    size: int | None = getattr(limit, name, None)
    if size is None or size >= len(rows):
        return rows
    # a class that train lost could not be told in validation, whose rows would be refused for it
    classes = _classes(rows, request.stratify) if name == "train" else None
    return keep(rows, sample(len(rows), size, seed=request.seed, purpose=1 + NAMES.index(name), classes=classes))
