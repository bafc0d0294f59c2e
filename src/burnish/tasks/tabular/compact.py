"""Keeps encoded rows small: ids in the fewest bytes that hold them, flags as bytes, nothing that another column tells.

A network wants float32 and int64; a batch of it is made of these columns, and a whole table never is.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.data.batching.ragged import array_of
from burnish.spec.values import Array, FeatureLimit, TableInputs
from burnish.tasks.tabular.features import FrameEncoder
from burnish.tasks.tabular.plan import TablePlan

LARGEST_FLOAT = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Compact:
    """Pack what a plan encodes, and unpack any rows of it."""

    plan: TablePlan

    def packed(self, features: FrameEncoder) -> dict[str, pa.Array]:
        """Give the columns to keep: `numbers`, `flags`, `categories`, and `wide` ids that no category tells."""
        numbers = features.numbers()
        columns = {"numbers": numbers[:, self._values], "flags": numbers[:, self._flags].astype(np.uint8)}
        if self.plan.categories:
            columns["categories"] = features.categories().astype(self._id_type)
        if self._untold:
            wide = features.wide([self.plan.wide[at] for at in self._untold])
            columns["wide"] = wide.astype(self._wide_type)
        return {name: matrix_column(values) for name, values in columns.items() if values.shape[1]}

    def unpacked(self, kept: "Mapping[str, Array]") -> "dict[str, Array]":
        """Give rows of the columns that were kept as a network wants them, and all others as they are."""
        batch = dict(kept)
        if self.plan.numbers:
            batch["numbers"] = self._numbers(batch, len(kept["row"]))
        if "categories" in batch:
            batch["categories"] = batch["categories"].astype(np.int64)
        if self.plan.wide:
            batch["wide"] = self._wide(batch, len(kept["row"]))
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

    def _wide(self, batch: "Mapping[str, Array]", num_rows: int) -> "Array":
        wide = np.empty((num_rows, len(self.plan.wide)), np.int64)
        if self._told:
            places, columns, offsets = (list(each) for each in zip(*self._told, strict=True))
            wide[:, places] = batch["categories"][:, columns] + np.asarray(offsets)
        if self._untold:
            wide[:, self._untold] = batch["wide"]
        return wide

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

    @property
    def _id_type(self) -> Any:
        return fewest_bytes(max(column.cardinality for column in self.plan.categories))

    @property
    def _wide_type(self) -> Any:
        return fewest_bytes(1 + sum(wide.size for wide in self.plan.wide))


def fewest_bytes(count: int) -> Any:
    """Give the smallest type that holds the numbers from 0 to below `count`."""
    return np.min_scalar_type(max(0, count - 1))


def plan_limits(features: pa.Table, inputs: TableInputs) -> Iterator[FeatureLimit]:
    """Give the limits of encoded cells: numbers are finite, and each category has so many ids."""
    ids = np.array(inputs.cardinalities) - 1
    most: dict[str, Any] = {"numbers": LARGEST_FLOAT, "flags": 1, "categories": ids, "wide": inputs.wide_size - 1}
    for name, high in most.items():
        if name in features.column_names:
            yield FeatureLimit(name, array_of(features[name]), -LARGEST_FLOAT if name == "numbers" else 0, high)


def matrix_column(values: "Array") -> pa.Array:
    """Give a matrix as a column, one list of numbers a row."""
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
