"""Bi-encoder features: each text of a row is a sequence by itself, so that queries and passages never meet."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from burnish.data.columns.parse_columns import LARGEST
from burnish.data.tokens.text import TextCodec
from burnish.spec.values import Array, FeatureLimit, RandomKey, RowFault, Rows
from burnish.tasks.labels import refuse_other_than_text
from burnish.tasks.sequences import SequenceEncoder, find_empty_texts

_SIDES = ("a", "b", "c")


@dataclass(frozen=True)
class BiEncoderFeatures(SequenceEncoder):
    """Encodes the texts of a row that the table has, and one label for all of them."""

    texts: tuple[str, ...]
    read_labels: "Callable[[pa.Table], tuple[Array, list[RowFault]]]"
    label: str | None
    """The column that labels are read from, if they are in one."""

    @cached_property
    def codecs(self) -> tuple[TextCodec, ...]:
        """One codec a text; all of them have the same limits."""
        return tuple(replace(self.codec, text=(name,)) for name in self.texts)

    @property
    def key(self) -> Mapping[str, object]:
        return {"sides": [dict(codec.key) for codec in self.codecs], "label": self.label}

    def faults(self, rows: Rows) -> list[RowFault]:
        refuse_other_than_text(rows.table, self.texts)
        empty = [fault for name in self.texts for fault in find_empty_texts(rows.table, name)]
        return [*empty, *self.read_labels(rows.table)[1]]

    def sequences(self, table: pa.Table) -> pa.Table:
        there = [codec for codec in self.codecs if codec.text[0] in table.column_names]
        refuse_other_than_text(table, [codec.text[0] for codec in there])
        sides = [codec.encode(table) for codec in there]
        lists = {side: features["a"] for side, features in zip(_SIDES, sides, strict=False)}
        sums = {
            name: _add_up([features[name].to_numpy() for features in sides]) for name in ("length", "tokens", "dropped")
        }
        return pa.table({**lists, "row": sides[0]["row"], **sums, "length": sums["length"].astype(np.int32)})

    def labels(self, table: pa.Table, features: pa.Table) -> pa.Array | None:
        wanted = {*self.texts, *([] if self.label is None else [self.label])}
        return pa.array(self.read_labels(table)[0]) if wanted <= {*table.column_names} else None

    def pad(self, features: pa.Table, indices: "Array", draw: RandomKey) -> "dict[str, Array]":
        there = [side for side in _SIDES if side in features.column_names]
        sides = [
            codec.collate(features.select([side, "row"]).rename_columns(["a", "row"]), indices, draw)
            for side, codec in zip(there, self.codecs, strict=False)
        ]
        return {name: self._stack(name, [side[name] for side in sides]) for name in sides[0]}

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterator[FeatureLimit]:
        lengths = []
        for side, codec in zip(_SIDES, self.codecs, strict=False):
            alone = pa.table({"a": features[side], "length": features["length"]})
            for limit in codec.limits(alone):
                yield limit._replace(column=side)
            lengths.append(np.asarray(codec.length_limit(alone).low))
        yield FeatureLimit("length", features["length"].to_numpy(), _add_up(lengths), _add_up(lengths))
        if "label" in features.column_names:
            low, high = (len(self.codecs),) * 2 if self.label is None else (-LARGEST, LARGEST)
            yield FeatureLimit("label", features["label"].to_numpy(), low, high)

    def _stack(self, name: str, arrays: "list[Array]") -> "Array":
        """Put [rows, length] of each text side by side, padded to the longest of all."""
        assets = self.codec.assets
        filling = {"input_ids": assets.pad_id, "token_type_ids": assets.pad_type_id}.get(name, 0)
        lacks = [max(array.shape[1] for array in arrays) - array.shape[1] for array in arrays]
        rooms = [(lack, 0) if assets.padding_side == "left" else (0, lack) for lack in lacks]
        wide = [
            np.pad(array, ((0, 0), room), constant_values=filling) for array, room in zip(arrays, rooms, strict=True)
        ]
        return np.stack(wide, axis=1)


def _add_up(arrays: "list[Array]") -> "Array":
    return np.asarray(np.sum(arrays, axis=0, dtype=np.int64))
