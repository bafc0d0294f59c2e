"""Rows of a table as features and batches."""

import hashlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.data.batching.ragged import Picker
from burnish.errors import DataError
from burnish.spec.protocols import Encoder
from burnish.spec.values import Array, Batch, FeatureLimit, Profile, RandomKey, RowFault, Rows
from burnish.tasks.labels import LabelColumns, Measure, label_limit, of_target, read_numbers
from burnish.tasks.tabular.features import (
    HALF,
    LARGEST_FLOAT,
    Compact,
    FrameEncoder,
    default_notes,
    fewest_bytes,
    plan_limits,
)
from burnish.tasks.tabular.frame import ColumnFrame
from burnish.tasks.tabular.options import Derived
from burnish.tasks.tabular.plan import UNSEEN_ID, TablePlan

_VERSION = 3
_TABLES_KEPT = 4
_FAULTS_SHOWN = 10


@dataclass(frozen=True)
class TableEncoder(Encoder):
    """Encode the columns of a plan, the target and the weight."""

    plan: TablePlan
    profile: Profile
    derived: Mapping[str, Derived]
    target: str
    weight: str | None = None
    loss: str = "auto"
    label_map: Mapping[str, str] = field(default_factory=dict)
    _pickers: dict[int, tuple[pa.Table, Picker]] = field(default_factory=dict, compare=False)
    """Views of the tables that were collated last: a batch is then some indexing, not a walk through Arrow."""

    def __post_init__(self) -> None:
        Measure.of_profile(self.profile)  # a recorded one may be damaged, and batches would fail long after

    @property
    def key(self) -> Mapping[str, object]:
        return {
            "version": _VERSION,
            "table": self.plan.digest,
            "derived": {name: _digest(how) for name, how in sorted(self.derived.items())},
            "target": [self.target, self.profile.kind, list(self.profile.labels), self.profile.facts.get("target")],
            "weight": self.weight,
            **({"label_map": dict(self.label_map)} if self.label_map else {}),
        }

    def faults(self, rows: Rows) -> list[RowFault]:
        # Rows to learn from or to be scored by may lack no whole column: defaults would hide it.
        absent = [name for name in self.profile.inputs if name not in rows.table.column_names]
        if absent:
            raise DataError(
                f"rows without the column{'s' * (len(absent) > 1)} {', '.join(absent)}, which the training rows have; "
                f"they have {', '.join(rows.table.column_names)}. Name it under task.columns as `drop` to do without it"
            )
        frame = ColumnFrame(rows.table, self.derived)
        faults = FrameEncoder(self.plan, frame).faults(forgiven=HALF) + self._labels(frame)[1]
        return faults + (self._weights(frame)[1] if self.weight else [])

    def encode(self, table: pa.Table) -> pa.Table:
        frame = ColumnFrame(table, self.derived)
        features = FrameEncoder(self.plan, frame)
        if not self._has_target(table):  # rows to learn from or to be scored by are judged as a whole before this
            refuse_faults(features.faults())
        # Rows have no length; an encoder that lays them out as sequences would tell one.
        columns: dict[str, Any] = {"row": np.arange(len(frame)), "length": np.ones(len(frame), np.int8)}
        columns |= self._compact.packed(features)
        if self._has_target(table):
            labels = self._labels(frame)[0]
            classes = self.profile.labels
            columns["label"] = labels.astype(fewest_bytes(len(classes))) if classes else labels
        if self.weight is not None and self.weight in table.column_names:
            columns["weight"] = self._weights(frame)[0].astype(np.float32)
        return pa.table(columns)

    def notes(self, rows: Rows) -> list[str]:
        return default_notes(rows, self.plan, inputs=self.profile.inputs, derived=self.derived)

    def collate(self, features: pa.Table, indices: "Array", draw: RandomKey) -> "Batch":
        known = self._pickers.get(id(features))
        if known is None or known[0] is not features:
            for oldest in list(self._pickers)[: 1 - _TABLES_KEPT]:  # another thread may do the same
                self._pickers.pop(oldest, None)
            columns = {name: features[name] for name in features.column_names if name != "length"}
            known = self._pickers[id(features)] = (features, Picker(columns))
        kept = known[1].rows(indices)
        if self.profile.labels and "label" in kept:
            kept["label"] = kept["label"].astype(np.int64)
        return self._compact.unpacked(kept)

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterator[FeatureLimit]:
        yield FeatureLimit("length", features["length"].to_numpy(), 1, 1)
        yield from plan_limits(features, self.plan.inputs)
        if "label" in features.column_names:
            yield label_limit(features, self.profile)
        if "weight" in features.column_names:
            yield FeatureLimit("weight", features["weight"].to_numpy(), 0, LARGEST_FLOAT)

    @cached_property
    def _compact(self) -> Compact:
        return Compact(self.plan)

    @property
    def truth_columns(self) -> tuple[str, ...]:
        """Name the columns that the target and the weight are made of."""
        target = self.derived[self.target].columns if self.target in self.derived else (self.target,)
        return target if self.weight is None else (*target, self.weight)

    def _has_target(self, table: pa.Table) -> bool:
        needed = self.derived[self.target].columns if self.target in self.derived else (self.target,)
        return set(needed) <= set(table.column_names)

    def _labels(self, frame: ColumnFrame) -> "tuple[Array, list[RowFault]]":
        table = pa.table({self.target: frame.column(self.target)})
        if self.profile.kind != "regression":
            columns = LabelColumns((self.target,), label_map=self.label_map)
            indices, faults = columns.class_indices(table, self.profile.labels)
            return indices, of_target(faults, self.target)
        measure = Measure.of_profile(self.profile)
        values, faults = read_numbers(table, self.target, transform=measure.transform, loss=self.loss)
        # Rows at fault are refused or skipped before anything is learned; a number keeps their logarithm from failing.
        usable = np.array(values)
        usable[[fault.row for fault in faults]] = measure.answers(np.zeros(1))[0]
        return measure.taught(usable), faults

    def _weights(self, frame: ColumnFrame) -> "tuple[Array, list[RowFault]]":
        assert self.weight is not None
        read = frame.numbers(self.weight)
        wrong = ~(np.isfinite(read.values) & (read.values >= 0))
        faults = [RowFault(int(row), f"weight {self.weight} must be 0 or more") for row in np.flatnonzero(wrong)]
        return np.where(wrong, 0.0, read.values), faults


def unseen_cells(features: pa.Table) -> int:
    """Count the cells whose category was not, or hardly, seen in training."""
    return sum(
        int(np.count_nonzero(chunk.flatten().to_numpy() == UNSEEN_ID)) for chunk in features["categories"].chunks
    )


def refuse_faults(faults: Sequence[RowFault]) -> None:
    """Refuse rows that cannot be read, counted from 1, with a few of them named."""
    if faults:
        shown = "\n".join(f"  row {fault.row + 1}, {fault.what}" for fault in faults[:_FAULTS_SHOWN])
        more = f"\n  … and {len(faults) - _FAULTS_SHOWN:,} more" if len(faults) > _FAULTS_SHOWN else ""
        cells = "a value" if len(faults) == 1 else f"{len(faults):,} values"
        raise DataError(f"{cells} cannot be read\n{shown}{more}\nan empty cell or null is a missing value")


def _digest(how: Derived) -> str:
    """Hash what a derived column depends on: a function's own module is part of it."""
    written = how.model_dump_json()
    if how.function is None:
        return written
    try:
        source = inspect.getsource(import_module(how.function.partition(":")[0]))
    except (ImportError, OSError, TypeError):
        source = ""
    return hashlib.sha256((written + source).encode()).hexdigest()
