"""Batches become records of one width, under the documented names."""

import numpy as np
import pytest

from burnish.errors import DataError
from burnish.run.preparation.tfrecords import Form, arrays_of

PADS = {"input_ids": 7, "segment_ids": 3, "label_ids": -100}
IDS = np.array([[1, 2, 7, 7], [1, 2, 4, 7]])
BATCH = {"input_ids": IDS, "attention_mask": (IDS != 7).astype(np.int64), "label": np.array([1, 0])}


def form(length: int, *, side: str = "right", has_spans: bool = False) -> Form:
    return Form(length, PADS, side, has_spans)


def test_narrow_batches_are_padded_as_the_tokenizer_pads() -> None:
    found = arrays_of(BATCH, form(6))
    assert found["input_ids"].tolist() == [[1, 2, 7, 7, 7, 7], [1, 2, 4, 7, 7, 7]]
    assert found["input_mask"].tolist() == [[1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0]]
    assert found["segment_ids"].tolist() == [[3] * 6] * 2
    assert (found["label_ids"].tolist(), found["is_real_example"].tolist()) == ([1, 0], [1, 1])


def test_padding_beyond_the_length_is_taken_away_on_its_side() -> None:
    assert arrays_of(BATCH, form(3))["input_ids"].tolist() == [[1, 2, 7], [1, 2, 4]]
    turned = {name: array[:, ::-1] if array.ndim == 2 else array for name, array in BATCH.items()}
    assert arrays_of(turned, form(3, side="left"))["input_ids"].tolist() == [[7, 2, 1], [4, 2, 1]]


def test_labels_at_places_are_padded_with_none_and_labels_of_a_row_are_not() -> None:
    tags = np.array([[0, 1, -100, -100], [1, 1, 0, -100]])
    scored = {**BATCH, "label": tags, "scored": tags >= 0}
    assert arrays_of(scored, form(5))["label_ids"].tolist() == [[0, 1, -100, -100, -100], [1, 1, 0, -100, -100]]
    several = {**BATCH, "label": np.array([[0, 1], [1, 1]])}
    assert arrays_of(several, form(5))["label_ids"].tolist() == [[0, 1], [1, 1]]


@pytest.mark.parametrize(("side", "starts"), [("right", [1, 0]), ("left", [3, 2])])
def test_spans_are_places_in_the_record(side: str, starts: list[int]) -> None:
    spans = {**BATCH, "label": np.array([[1, 1], [0, 2]])}
    found = arrays_of(spans, form(6, side=side, has_spans=True))
    assert found["start_positions"].tolist() == starts
    assert "label_ids" not in found
    assert np.take_along_axis(found["input_ids"], found["start_positions"][:, None], 1).ravel().tolist() == [2, 1]


def test_several_texts_in_one_example_are_refused() -> None:
    with pytest.raises(DataError, match="one text or pair a record, and this task has several"):
        arrays_of({"input_ids": np.zeros((2, 3, 4))}, form(6))
