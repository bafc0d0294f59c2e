"""A payload is answered row by row; a stand-in model answers here."""

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from burnish.artifact.answering import answer
from burnish.data.codecs.columns import ColumnSpec
from burnish.data.codecs.decoded import Limits
from burnish.errors import DataError
from burnish.spec.values import Outcome, Profile


class Doubles:
    """Predict twice the fare, and remember what was asked."""

    profile = Profile("regression")
    task = SimpleNamespace(input_specs=lambda profile: [ColumnSpec("fare", "number", default=0.5)])

    def __init__(self) -> None:
        self.asked: list[pa.Table] = []

    def outcome(self, table: pa.Table, **_: object) -> Outcome:
        self.asked.append(table)
        values = table["fare"].to_numpy() * 2
        return Outcome("regression", np.arange(len(table)), values, values, None)


def answered(payload: bytes, **options: Any) -> Any:
    return answer(Doubles(), payload, **{"format": "json", **options})


def test_each_row_gets_its_answer() -> None:
    found = answered(b'[{"fare": 1}, {"fare": null}, {"fare": "2.5", "id": 7}]')
    predictions = json.loads(found.body)["predictions"]
    assert [each["predicted"] for each in predictions] == [2.0, 1.0, 5.0]
    assert (found.num_rows, found.errors, found.unused) == (3, (), ("id",))


def test_a_row_that_gives_no_column_is_refused() -> None:
    with pytest.raises(DataError, match=r"row 2: none of the model's columns is given; they are fare"):
        answered(b'[{"fare": 1}, {"fair": 2}]')


def test_bad_rows_are_refused_all_at_once_before_the_model_is_asked() -> None:
    model = Doubles()
    with pytest.raises(DataError, match=r"2 of 3 rows cannot be used\n  row 1, fare: .*\n  row 3: is null, where"):
        answer(model, b'[{"fare": "a"}, {"fare": 1}, null]', format="json")
    assert model.asked == []


def test_bad_rows_that_are_skipped_are_told_in_their_places() -> None:
    found = answered(b'{"fare": 1}\nx\n{"fare": 2}\n', format="jsonl", bad_rows="skip")
    lines = list(map(json.loads, found.body.splitlines()))
    assert lines == [{"predicted": 2.0}, {"error": str(found.errors[0])}, {"predicted": 4.0}]
    assert str(found.errors[0]) == "row 2 (line 2): is not JSON: Expecting value at column 1"


@pytest.mark.parametrize("payload", [b"[]", b"[null]"])
def test_a_model_is_not_asked_about_nothing(payload: bytes) -> None:
    model = Doubles()
    found = answer(model, payload, format="json", bad_rows="skip")
    assert len(json.loads(found.body)["predictions"]) == found.num_rows
    assert model.asked == []


def test_a_limit_holds() -> None:
    with pytest.raises(DataError, match="9 bytes, but only 8 are read at once"):
        answered(b'[{"a":1}]', limits=Limits(payload_bytes=8))
