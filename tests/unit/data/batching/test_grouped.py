"""Batches that belong to a group are those of the encoder, with the group's number beside every row."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from burnish.data.batching.mixture import Grouped
from burnish.spec.protocols import Encoder
from burnish.spec.values import Outcome, RandomKey, RowFault, RowOrigins, Rows


class Doubling(Encoder):
    """Encode a column as twice its values."""

    key: ClassVar = {"by": 2}

    def faults(self, rows: Rows) -> list[RowFault]:
        return [RowFault(0, "zero")]

    def encode(self, table: pa.Table) -> pa.Table:
        return pa.table({"twice": [2 * value for value in table["value"].to_pylist()]})

    def collate(self, features: pa.Table, indices: np.ndarray, draw: RandomKey) -> dict[str, np.ndarray]:
        return {"twice": features["twice"].to_numpy()[indices]}


class Wordy(Doubling):
    """Say yes to everything."""

    def put_into_words(self, outcome: Outcome) -> Outcome:
        return replace(outcome, labels=("yes",))


def test_only_the_group_is_new() -> None:
    grouped, table = Grouped(Doubling(), 3), pa.table({"value": [1, 2, 3]})
    features = grouped.encode(table)
    batch = grouped.collate(features, np.array([2, 0]), RandomKey(0, 0, is_training=True))
    assert {name: array.tolist() for name, array in batch.items()} == {"twice": [6, 2], "group": [3, 3]}
    assert grouped.key == {"by": 2}
    assert grouped.faults(Rows(table, RowOrigins((), np.empty(0), np.empty(0), ()))) == [RowFault(0, "zero")]


def test_answers_are_put_into_words_where_the_encoder_does_so() -> None:
    said = Outcome("binary", np.arange(1), np.zeros((1, 1)), np.zeros(1), None)
    assert Grouped(Wordy(), 0).put_into_words(said).labels == ("yes",)
    assert Grouped(Doubling(), 0).put_into_words(said) is said
