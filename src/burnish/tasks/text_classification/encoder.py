"""Texts with their labels as features and batches."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from burnish.spec.values import Array, Batch, FeatureLimit, Profile, RandomKey, RowFault, Rows
from burnish.tasks.labels import LabelColumns, Measure, label_limit, refuse_other_than_labels, refuse_other_than_text
from burnish.tasks.sequences import SequenceEncoder, find_empty_texts
from burnish.tasks.tabular.features import matrix_column


@dataclass(frozen=True)
class TextEncoder(SequenceEncoder):
    """Encodes a text, of one column or several, with its pair if there is one, and the label."""

    profile: Profile
    columns: LabelColumns

    def __post_init__(self) -> None:
        Measure.of_profile(self.profile)  # a recorded one may be damaged, and batches would fail long after

    @property
    def key(self) -> Mapping[str, object]:
        return {
            **self.codec.key,
            "labels": list(self.profile.labels),
            "kind": self.profile.kind,
            "label_columns": list(self.columns.names),
            "separator": self.columns.separator,
            **({"label_map": dict(self.columns.label_map)} if self.columns.label_map else {}),
        }

    def faults(self, rows: Rows) -> list[RowFault]:
        refuse_other_than_text(rows.table, self.codec.columns)
        refuse_other_than_labels(rows.table, self.columns.names, kind=self.profile.kind)
        pair = find_empty_texts(rows.table, self.codec.pair) if self.codec.pair else []
        return [*find_empty_texts(rows.table, *self.codec.text), *pair, *self._read_labels(rows.table)[1]]

    def sequences(self, table: pa.Table) -> pa.Table:
        refuse_other_than_text(table, self.codec.columns)
        return self.codec.encode(table)

    def labels(self, table: pa.Table, features: pa.Table) -> pa.Array | None:
        if not set(self.columns.names) <= set(table.column_names):
            return None
        labels = self._read_labels(table)[0][features["row"].to_numpy()]
        return pa.array(labels) if labels.ndim == 1 else matrix_column(labels)

    def finish(self, batch: "dict[str, Array]", features: pa.Table, indices: "Array", draw: RandomKey) -> "Batch":
        batch = dict(super().finish(batch, features, indices, draw))
        if self.profile.kind == "regression" and "label" in batch:
            batch["label"] = Measure.of_profile(self.profile).taught(batch["label"])
        return batch

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterator[FeatureLimit]:
        yield from super().limits(features, num_rows=num_rows)
        if "label" in features.column_names:
            yield label_limit(features, self.profile)

    def _read_labels(self, table: pa.Table) -> "tuple[Array, list[RowFault]]":
        if self.profile.kind == "regression":
            return self.columns.numbers(table)
        if self.profile.kind == "multilabel":
            return self.columns.indicators(table, self.profile.labels)
        return self.columns.class_indices(table, self.profile.labels)
