"""Texts and the columns beside them as features and batches."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from burnish.data.batching.ragged import pick
from burnish.spec.protocols import Encoder
from burnish.spec.values import Array, Batch, FeatureLimit, RandomKey, RowFault, Rows
from burnish.tasks.tabular.encoder import refuse_faults
from burnish.tasks.tabular.features import HALF, FrameEncoder, default_notes, matrix_column, plan_limits
from burnish.tasks.tabular.frame import ColumnFrame
from burnish.tasks.tabular.plan import TablePlan

_TYPES = {"numbers": np.float32, "categories": np.int64}


@dataclass(frozen=True)
class BesideEncoder(Encoder):
    """Leave texts and labels to another encoder, and repeat a row's columns beside each window of its text."""

    text: Encoder
    plan: TablePlan

    @property
    def key(self) -> Mapping[str, object]:
        return {**self.text.key, "beside": self.plan.digest}

    def faults(self, rows: Rows) -> list[RowFault]:
        return [*self.text.faults(rows), *self._features(rows.table).faults(forgiven=HALF)]

    def encode(self, table: pa.Table) -> pa.Table:
        features, beside = self.text.encode(table), self._features(table)
        if "label" not in features.column_names:  # rows with labels are judged as a whole before this
            refuse_faults(beside.faults())
        rows = features["row"].to_numpy()
        if self.plan.numbers:
            features = features.append_column("numbers", matrix_column(beside.numbers()[rows]))
        if self.plan.categories:
            features = features.append_column("categories", matrix_column(beside.categories()[rows]))
        return features

    def notes(self, rows: Rows) -> list[str]:
        return default_notes(rows, self.plan)

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterator[FeatureLimit]:
        yield from self.text.limits(features, num_rows=num_rows)
        yield from plan_limits(features, self.plan.inputs)

    def collate(self, features: pa.Table, indices: "Array", draw: RandomKey) -> "Batch":
        batch = dict(self.text.collate(features, indices, draw))
        for name, kind in _TYPES.items():
            if name in features.column_names:
                batch[name] = pick(features[name], indices).astype(kind)
        return batch

    def _features(self, table: pa.Table) -> FrameEncoder:
        return FrameEncoder(self.plan, ColumnFrame(table))
