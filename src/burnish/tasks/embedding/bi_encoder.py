"""Several texts of a row as sequences of their own, for encoders that never see them together."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from burnish.data.batching.ragged import pick
from burnish.data.columns.parse_columns import LARGEST
from burnish.data.tokens.text import TextCodec
from burnish.data.tokens.tokens import demand_tokenizer
from burnish.spec.protocols import Assets, Encoder, Truncation
from burnish.spec.values import Array, Batch, FeatureLimit, RandomKey, RowFault, Rows
from burnish.tasks.labels import refuse_other_than_text
from burnish.tasks.text_classification.encoder import empty_texts

Labels = Callable[[pa.Table], "tuple[Array, list[RowFault]]"]
_SIDES = ("a", "b", "c")


@dataclass(frozen=True)
class SidesEncoder(Encoder):
    """Encode the texts of a row that the table has; a label rides along beside all of them."""

    codecs: tuple[TextCodec, ...]
    labels: Labels
    label: str | None
    """The column that labels are read from, if they are in one."""

    @classmethod
    def build(
        cls,
        assets: Assets,
        columns: tuple[str, ...],
        *,
        max_length: int,
        truncation: Truncation,
        labels: Labels,
        label: str | None = None,
    ) -> "SidesEncoder":
        """Put a tokenizer and a task's options together."""
        at_hand = demand_tokenizer(assets)
        codecs = tuple(TextCodec(at_hand, (name,), None, max_length, truncation) for name in columns)
        return cls(codecs, labels, label)

    @property
    def key(self) -> Mapping[str, object]:
        return {"sides": [dict(codec.key) for codec in self.codecs], "label": self.label}

    def faults(self, rows: Rows) -> list[RowFault]:
        names = [name for codec in self.codecs for name in codec.text]
        refuse_other_than_text(rows.table, names)
        empty = [fault for name in names for fault in empty_texts(rows.table, name)]
        return [*empty, *self.labels(rows.table)[1]]

    def encode(self, table: pa.Table) -> pa.Table:
        there = [codec for codec in self.codecs if codec.text[0] in table.column_names]
        refuse_other_than_text(table, [codec.text[0] for codec in there])
        sides = [codec.encode(table) for codec in there]
        lists = {side: features["a"] for side, features in zip(_SIDES, sides, strict=False)}
        counted = {name: _sum([features[name].to_numpy() for features in sides]) for name in ("tokens", "dropped")}
        length = _sum([features["length"].to_numpy() for features in sides]).astype(np.int32)
        features = pa.table({**lists, "row": sides[0]["row"], "length": length, **counted})
        if len(sides) < len(self.codecs) or (self.label is not None and self.label not in table.column_names):
            return features
        return features.append_column("label", pa.array(self.labels(table)[0]))

    def collate(self, features: pa.Table, indices: "Array", draw: RandomKey) -> "Batch":
        there = [side for side in _SIDES if side in features.column_names]
        sides = [
            codec.collate(features.select([side, "row"]).rename_columns(["a", "row"]), indices, draw)
            for side, codec in zip(there, self.codecs, strict=False)
        ]
        batch: dict[str, Array] = {name: self._stacked(name, [side[name] for side in sides]) for name in sides[0]}
        for name in ("row", "label"):
            if name in features.column_names:
                batch[name] = pick(features[name], np.asarray(indices))
        return batch

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterator[FeatureLimit]:
        lengths = []
        for side, codec in zip(_SIDES, self.codecs, strict=False):
            alone = pa.table({"a": features[side], "length": features["length"]})
            for limit in codec.limits(alone):
                yield limit._replace(column=side)
            lengths.append(np.asarray(codec.length_limit(alone).low))
        yield FeatureLimit("length", features["length"].to_numpy(), _sum(lengths), _sum(lengths))
        if "label" in features.column_names:
            low, high = (len(self.codecs),) * 2 if self.label is None else (-LARGEST, LARGEST)
            yield FeatureLimit("label", features["label"].to_numpy(), low, high)

    def _stacked(self, name: str, arrays: "list[Array]") -> "Array":
        assets = self.codecs[0].assets
        filling = {"input_ids": assets.pad_id, "token_type_ids": assets.pad_type_id}.get(name, 0)
        width = max(array.shape[1] for array in arrays)
        wide = [
            np.pad(array, ((0, 0), _room(width - array.shape[1], assets.padding_side)), constant_values=filling)
            for array in arrays
        ]
        return np.stack(wide, axis=1)


def _room(size: int, side: str) -> tuple[int, int]:
    return (size, 0) if side == "left" else (0, size)


def _sum(arrays: "list[Array]") -> "Array":
    return np.asarray(np.sum(arrays, axis=0, dtype=np.int64))
