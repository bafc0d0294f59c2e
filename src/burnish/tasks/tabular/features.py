"""Encodes any rows by a plan: numbers, category ids and wide ids, whole columns at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.columns.datetimes import part
from burnish.data.columns.hashing import bucket, combine, hash_texts
from burnish.data.columns.parse_columns import STRAY_SHARE, ParsedNumbers, describe_cell, same_words
from burnish.spec.values import Array, RowFault
from burnish.tasks.tabular.fit import turned
from burnish.tasks.tabular.frame import ColumnFrame
from burnish.tasks.tabular.plan import FIRST_ID, MISSING_ID, UNSEEN_ID, ColumnPlan, NumberPlan, TablePlan, WidePlan
from burnish.tasks.tabular.scaling import scaled

HALF = 0.5
"""The share of unreadable cells that is forgiven in rows with a target: training rows have told what a column is."""
_WANTED = {"number": "no number", "datetime": "not a date or time", "boolean": "neither yes nor no"}


@dataclass(frozen=True)
class FrameEncoder:
    """Encode one frame."""

    plan: TablePlan
    frame: ColumnFrame

    def numbers(self) -> "Array":
        """Give float32 [n, numbers], never missing or infinite."""
        columns = {column.name: column for column in self.plan.columns}
        matrix = np.empty((len(self.frame), len(self.plan.numbers)), np.float32)
        for at, number in enumerate(self.plan.numbers):
            matrix[:, at] = self._number(number, columns[number.column])
        return matrix

    def categories(self) -> "Array":
        """Give int32 [n, categories]."""
        matrix = np.empty((len(self.frame), len(self.plan.categories)), np.int32)
        for at, column in enumerate(self.plan.categories):
            matrix[:, at] = self._ids(column)
        return matrix

    def wide(self, plans: Sequence[WidePlan]) -> "Array":
        """Give int32 [n, plans]: one id a one-hot, bucket or cross."""
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
            RowFault(int(row), f"column {column.name}: {self._cell(column.name, int(row))} is {_WANTED[column.kind]}")
            for column, read in found
            if not (column.is_guessed and read.fits(forgiven))
            for row in np.flatnonzero(read.is_wrong)
        ]

    def _cell(self, name: str, row: int) -> str:
        return describe_cell(self.frame.column(name), row)

    def _quantity(self, column: ColumnPlan) -> ParsedNumbers:
        if column.kind == "datetime":
            return self.frame.times(column.name)
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
            return turned(part(filled, name), name, wave)
        return scaled(part(filled, number.part), number.scaling)

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
            return bucket(combine([self._hashes(name, wide) for name in wide.columns]), wide.size)
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
        return FIRST_ID + bucket(hash_texts(values), column.size)
    vocabulary = pa.array(column.vocabulary, pa.string())
    places = pc.index_in(values, value_set=vocabulary)
    if places.null_count:
        places = pc.coalesce(places, pc.index_in(same_words(values), value_set=same_words(vocabulary)))
    return np.asarray(pc.fill_null(pc.add(places, FIRST_ID), UNSEEN_ID).to_numpy(zero_copy_only=False), np.int64)


def _default_id(column: ColumnPlan) -> int:
    frame = ColumnFrame(pa.table({column.name: [column.default]}))
    plain = ColumnPlan(column.name, column.kind, vocabulary=column.vocabulary, size=column.size)
    return int(FrameEncoder(TablePlan((plain,), (), ()), frame).categories()[0, 0])
