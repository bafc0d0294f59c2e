"""Texts with their labels as features and batches."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.batching.ragged import pick
from burnish.data.tokens.text import TextCodec
from burnish.data.tokens.tokens import demand_tokenizer
from burnish.spec.protocols import Assets, Encoder, Truncation
from burnish.spec.values import Array, Batch, FeatureLimit, Profile, RandomKey, RowFault, Rows
from burnish.tasks.labels import LabelColumns, Measure, label_limit, refuse_other_than_labels, refuse_other_than_text
from burnish.tasks.tabular.features import matrix_column


@dataclass(frozen=True)
class TextEncoder(Encoder):
    """Encode a text, of one column or several, with its pair if there is one, and the label."""

    codec: TextCodec
    profile: Profile
    columns: LabelColumns

    def __post_init__(self) -> None:
        Measure.of_profile(self.profile)  # a recorded one may be damaged, and batches would fail long after

    @classmethod
    def build(
        cls,
        assets: Assets,
        profile: Profile,
        *,
        text: tuple[str, ...],
        pair: str | None,
        max_length: int,
        truncation: Truncation,
        columns: LabelColumns,
    ) -> "TextEncoder":
        """Put a tokenizer, a profile and a task's options together."""
        return cls(TextCodec(demand_tokenizer(assets), text, pair, max_length, truncation), profile, columns)

    @property
    def key(self) -> Mapping[str, object]:
        return {
            **self.codec.key,
            "labels": list(self.profile.labels),
            "kind": self.profile.kind,
            "label_columns": list(self.columns.names),
            "separator": self.columns.separator,
        }

    def faults(self, rows: Rows) -> list[RowFault]:
        refuse_other_than_text(rows.table, self._texts)
        refuse_other_than_labels(rows.table, self.columns.names, kind=self.profile.kind)
        pair = empty_texts(rows.table, self.codec.pair) if self.codec.pair else []
        return [*empty_texts(rows.table, *self.codec.text), *pair, *self._labels(rows.table)[1]]

    def encode(self, table: pa.Table) -> pa.Table:
        refuse_other_than_text(table, self._texts)
        features = self.codec.encode(table)
        if not set(self.columns.names) <= set(table.column_names):
            return features
        labels = self._labels(table)[0][features["row"].to_numpy()]
        column = pa.array(labels) if labels.ndim == 1 else matrix_column(labels)
        return features.append_column("label", column)

    def collate(self, features: pa.Table, indices: "Array", draw: RandomKey) -> "Batch":
        batch = dict(self.codec.collate(features, indices, draw))
        for name in ("row", "label"):
            if name in features.column_names:
                batch[name] = pick(features[name], indices)
        if self.profile.kind == "regression" and "label" in batch:
            batch["label"] = Measure.of_profile(self.profile).taught(batch["label"])
        return batch

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterator[FeatureLimit]:
        yield from self.codec.limits(features)
        yield self.codec.length_limit(features)
        if "label" in features.column_names:
            yield label_limit(features, self.profile)

    @property
    def _texts(self) -> list[str]:
        return [*self.codec.text, *([self.codec.pair] if self.codec.pair else [])]

    def _labels(self, table: pa.Table) -> "tuple[Array, list[RowFault]]":
        if self.profile.kind == "regression":
            return self.columns.numbers(table)
        if self.profile.kind == "multilabel":
            return self.columns.indicators(table, self.profile.labels)
        return self.columns.class_indices(table, self.profile.labels)


def empty_texts(table: pa.Table, *names: str) -> list[RowFault]:
    """List the rows in which all of these columns, which are read as one text, hold nothing but blanks."""
    texts = [pc.fill_null(table[name].cast(pa.large_string()), "") for name in names]
    blank = np.all([pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(text)), 0).to_numpy() for text in texts], axis=0)
    what = f"{names[0]} is empty" if len(names) == 1 else f"{' and '.join(names)} are empty"
    return [RowFault(int(row), what) for row in np.flatnonzero(blank)]
