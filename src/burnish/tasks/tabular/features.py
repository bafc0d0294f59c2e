"""Encodes any rows by a plan, whole columns at a time, and keeps them small."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.batching.ragged import read_column
from burnish.data.cache.spill import in_parts
from burnish.data.columns.datetimes import take_part
from burnish.data.columns.hashing import assign_buckets, combine_hashes, hash_texts
from burnish.data.columns.parse_columns import STRAY_SHARE, ParsedNumbers, describe_cell, unify_words
from burnish.spec.values import Array, FeatureLimit, RowFault, Rows, TableInputs
from burnish.tasks.tabular.fit import scaled, turned
from burnish.tasks.tabular.frame import ColumnFrame
from burnish.tasks.tabular.options import Derived
from burnish.tasks.tabular.plan import FIRST_ID, MISSING_ID, UNSEEN_ID, ColumnPlan, NumberPlan, TablePlan, WidePlan

HALF = 0.5
"""The share of unreadable cells that is forgiven in rows with a target: training rows have told what a column is."""
_WANTED = {"number": "no number", "datetime": "not a date or time", "boolean": "neither yes nor no"}


@dataclass(frozen=True)
class FrameEncoder:
    """Encode one frame."""

    plan: TablePlan
    frame: ColumnFrame

    def numbers(self) -> "Array":
        """Return float32 [n, numbers], never missing or infinite."""
        columns = {column.name: column for column in self.plan.columns}
        matrix = np.empty((len(self.frame), len(self.plan.numbers)), np.float32)
        for at, number in enumerate(self.plan.numbers):
            matrix[:, at] = self._number(number, columns[number.column])
        return matrix

    def categories(self) -> "Array":
        """Return int32 [n, categories]."""
        matrix = np.empty((len(self.frame), len(self.plan.categories)), np.int32)
        for at, column in enumerate(self.plan.categories):
            matrix[:, at] = self._ids(column)
        return matrix

    def wide(self, plans: Sequence[WidePlan]) -> "Array":
        """Return int32 [n, plans]: one id a one-hot, bucket or cross."""
        matrix = np.empty((len(self.frame), len(plans)), np.int32)
        for at, wide in enumerate(plans):
            matrix[:, at] = wide.offset + self._wide_ids(wide)
        return matrix

    def read(self) -> None:
        """Let the frame read every column as what it is."""
        for column in self.plan.columns:
            if column.kind in _WANTED:
                self._quantity(column)
            elif column.kind == "identity":
                self.frame.numbers(column.name)
            else:
                self.frame.column(column.name)  # one that is derived reads others

    def faults(self, *, forgiven: float = STRAY_SHARE) -> list[RowFault]:
        """List the cells that cannot be what their column is; in one of a guessed kind, a share of them is forgiven."""
        found = [(column, self._quantity(column)) for column in self.plan.columns if column.kind in _WANTED]
        return [
            RowFault(row, f"column {column.name}: {describe_cell(cells, row)} is {_WANTED[column.kind]}")
            for column, read in found
            if not (column.is_guessed and read.fits(forgiven))
            for cells in [self.frame.column(column.name)]
            for row in np.flatnonzero(read.is_wrong).tolist()
        ]

    def _quantity(self, column: ColumnPlan) -> ParsedNumbers:
        if column.kind == "datetime":
            return self.frame.times(column.name, day_first=column.day_first, compact=column.compact)
        return self.frame.flags(column.name) if column.kind == "boolean" else self.frame.numbers(column.name)

    def _number(self, number: NumberPlan, column: ColumnPlan) -> "Array":
        values = self._quantity(column).values
        is_missing = ~np.isfinite(values)
        if number.part == "missing":
            return is_missing.astype(np.float64)
        filled = np.where(is_missing, column.fill or 0.0, values)
        if number.part == "value":
            return scaled(filled, number.scaling)
        name, _, wave = number.part.rpartition("_")
        if wave in ("sin", "cos"):
            return turned(take_part(filled, name), name, wave)
        return scaled(take_part(filled, number.part), number.scaling)

    def _ids(self, column: ColumnPlan) -> "Array":
        if column.kind == "boolean":
            ids = _whole_ids(self.frame.flags(column.name).values, 2)
        elif column.kind == "identity":
            ids = _whole_ids(self.frame.numbers(column.name).values, column.size)
        else:
            read = self.frame.words(column.name)
            ids = read.lookup(_value_ids(read.values, column), missing=MISSING_ID)
        if column.default is None:
            return ids
        return np.where(ids == MISSING_ID, _default_id(column), ids)

    def _wide_ids(self, wide: WidePlan) -> "Array":
        if len(wide.columns) > 1:
            return assign_buckets(combine_hashes([self._hashes(name, wide) for name in wide.columns]), wide.size)
        name = wide.columns[0]
        return self._buckets(name, wide) if name in wide.boundaries else self._ids(self._column(name))

    def _hashes(self, name: str, wide: WidePlan) -> "Array":
        column = self._column(name)
        if name in wide.boundaries:
            return self._buckets(name, wide).astype(np.uint64)
        if column.kind in ("boolean", "identity"):
            return self._ids(column).astype(np.uint64)
        read = self.frame.words(name)
        missing = hash_texts(pa.array([column.default or ""]))[0]
        return read.lookup(hash_texts(read.values), missing=missing)

    def _buckets(self, name: str, wide: WidePlan) -> "Array":
        values = self.frame.numbers(name).values
        column = self._column(name)
        if column.default is not None:
            values = np.where(np.isnan(values), column.fill or 0.0, values)
        ids = 1 + np.searchsorted(np.asarray(wide.boundaries[name]), values, side="right")
        return np.where(np.isnan(values), 0, ids)

    def _column(self, name: str) -> ColumnPlan:
        return next(column for column in self.plan.columns if column.name == name)


def _whole_ids(values: "Array", size: int) -> "Array":
    """Number whole values from 0 to below `size`; any other is one that was never seen."""
    is_known = (values >= 0) & (values < size) & (values == np.floor(values))
    ids = np.where(is_known, FIRST_ID + np.where(is_known, values, 0).astype(np.int64), UNSEEN_ID)
    return np.where(np.isnan(values), MISSING_ID, ids)


def _value_ids(values: pa.Array, column: ColumnPlan) -> "Array":
    if column.kind == "hash":
        return FIRST_ID + assign_buckets(hash_texts(values), column.size)
    vocabulary = pa.array(column.vocabulary, pa.string())
    places = pc.index_in(values, value_set=vocabulary)
    if places.null_count:
        places = pc.coalesce(places, pc.index_in(unify_words(values), value_set=unify_words(vocabulary)))
    return np.asarray(pc.fill_null(pc.add(places, FIRST_ID), UNSEEN_ID).to_numpy(zero_copy_only=False), np.int64)


def _default_id(column: ColumnPlan) -> int:
    frame = ColumnFrame(pa.table({column.name: [column.default]}))
    plain = ColumnPlan(column.name, column.kind, vocabulary=column.vocabulary, size=column.size)
    return int(FrameEncoder(TablePlan((plain,), (), ()), frame).categories()[0, 0])


LARGEST_FLOAT = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Compact:
    """Pack what a plan encodes, and unpack any rows of it."""

    plan: TablePlan

    def packed(self, features: FrameEncoder) -> dict[str, pa.Array]:
        """Return the columns to keep: `numbers`, `flags`, `categories`, and `wide` ids that no category tells."""
        numbers = features.numbers()
        columns = {"numbers": numbers[:, self._values], "flags": numbers[:, self._flags].astype(np.uint8)}
        if self.plan.categories:
            columns["categories"] = features.categories().astype(
                fewest_bytes(max(column.cardinality for column in self.plan.categories))
            )
        if self._untold:
            wide = features.wide([self.plan.wide[at] for at in self._untold])
            columns["wide"] = wide.astype(fewest_bytes(1 + sum(each.size for each in self.plan.wide)))
        return {name: matrix_column(values) for name, values in columns.items() if values.shape[1]}

    def unpacked(self, kept: "Mapping[str, Array]") -> "dict[str, Array]":
        """Return rows of the columns that were kept as a network wants them, and all others as they are."""
        batch = dict(kept)
        if self.plan.numbers:
            batch["numbers"] = self._numbers(batch, len(kept["row"]))
        if "categories" in batch:
            batch["categories"] = batch["categories"].astype(np.int64)
        if self.plan.wide:
            wide = np.empty((len(kept["row"]), len(self.plan.wide)), np.int64)
            if self._told:
                places, columns, offsets = (list(each) for each in zip(*self._told, strict=True))
                wide[:, places] = batch["categories"][:, columns] + np.asarray(offsets)
            if self._untold:
                wide[:, self._untold] = batch["wide"]
            batch["wide"] = wide
        return batch

    def _numbers(self, batch: "dict[str, Array]", num_rows: int) -> "Array":
        flags = batch.pop("flags", None)
        if flags is None:
            return batch["numbers"]
        numbers = np.empty((num_rows, len(self.plan.numbers)), np.float32)
        numbers[:, self._flags] = flags
        if "numbers" in batch:
            numbers[:, self._values] = batch["numbers"]
        return numbers

    @cached_property
    def _values(self) -> list[int]:
        return [at for at, number in enumerate(self.plan.numbers) if number.part != "missing"]

    @cached_property
    def _flags(self) -> list[int]:
        return [at for at, number in enumerate(self.plan.numbers) if number.part == "missing"]

    @cached_property
    def _told(self) -> list[tuple[int, int, int]]:
        """List the wide ids that are those of a category: their place, the category's, and what is added."""
        at_category = {column.name: at for at, column in enumerate(self.plan.categories)}
        return [
            (at, at_category[wide.columns[0]], wide.offset)
            for at, wide in enumerate(self.plan.wide)
            if len(wide.columns) == 1 and wide.columns[0] in at_category and not wide.boundaries
        ]

    @cached_property
    def _untold(self) -> list[int]:
        told = {at for at, *_ in self._told}
        return [at for at in range(len(self.plan.wide)) if at not in told]


def fewest_bytes(count: int) -> Any:
    """Return the smallest type that holds the numbers from 0 to below `count`."""
    return np.min_scalar_type(max(0, count - 1))


def plan_limits(features: pa.Table, inputs: TableInputs) -> Iterator[FeatureLimit]:
    """Return the limits of encoded cells: numbers are finite, and each category has so many ids."""
    ids = np.array(inputs.cardinalities) - 1
    most: dict[str, Any] = {"numbers": LARGEST_FLOAT, "flags": 1, "categories": ids, "wide": inputs.wide_size - 1}
    for name, high in most.items():
        if name in features.column_names:
            yield FeatureLimit(name, read_column(features[name]), -LARGEST_FLOAT if name == "numbers" else 0, high)


def matrix_column(values: "Array") -> pa.Array:
    """Return a matrix as a column, one list of numbers a row."""
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])


_NAMED = 3


def default_notes(
    rows: Rows, plan: TablePlan, *, inputs: Sequence[str] = (), derived: Mapping[str, Derived] | None = None
) -> list[str]:
    """Return a sentence for each kind of absent column, and for each column with cells that cannot be read."""
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
    for start, some in in_parts(rows):
        frame = ColumnFrame(some.table, derived)
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
