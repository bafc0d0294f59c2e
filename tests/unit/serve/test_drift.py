import numpy as np
import pyarrow as pa
import pytest

from burnish.artifact.signature import AnswerSpec, ClassLabel, Signature
from burnish.serve.drift import Drift
from burnish.spec.values import Outcome

NAMES = ("a;b", "c", "d")


def drift(kind: str) -> Drift:
    classes = tuple(ClassLabel(value=name, name=name, share=0.3) for name in NAMES)
    return Drift(Signature(task="any", kind=kind, inputs=(), answer=AnswerSpec(kind="class", classes=classes)))


def outcome(kind: str, decisions: object, answers: pa.Table | None = None) -> Outcome:
    given = np.array(decisions, dtype=object if answers is not None else None)
    return Outcome(kind, np.arange(len(given)), np.zeros((len(given), 3)), given, None, NAMES, answers)


def test_classes_are_counted_by_row() -> None:
    found = drift("multiclass")
    found.observe_answers(outcome("multiclass", [0, 0, 2, 1]))
    assert found.serving == {"class_share": pytest.approx({"a;b": 0.5, "c": 0.25, "d": 0.25})}


def test_several_labels_of_a_row_are_counted_one_by_one_as_in_training() -> None:
    found = drift("multilabel")
    found.observe_answers(outcome("multilabel", [[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 1, 1]]))
    assert found.serving == {"class_share": pytest.approx({"a;b": 0.5, "c": 0.75, "d": 0.25})}


def test_tags_are_counted_by_word_as_in_training() -> None:
    found = drift("tags")
    tags = pa.table({"predicted": ["x y", "(none)"], "tags": [["c", "d", "c"], ["a;b"]]})
    for _ in range(3):
        found.observe_answers(outcome("tags", [(1, 2, 1), (0,)], tags))
    assert found.serving == {"class_share": pytest.approx({"a;b": 0.25, "c": 0.5, "d": 0.25})}


def test_what_came_long_before_hardly_counts_however_many_words_a_row_has() -> None:
    found = drift("tags")
    for tag, num_rows in (("c", 1000), ("d", 1000)):
        tags = pa.table({"predicted": ["x"] * num_rows, "tags": [[tag] * 5] * num_rows})
        found.observe_answers(outcome("tags", [(1,)] * num_rows, tags))
    assert found.serving["class_share"]["d"] == pytest.approx(2 / 3, abs=0.01)


def test_answers_that_are_no_classes_are_not_counted() -> None:
    found = drift("spans")
    found.observe_answers(outcome("spans", [()], pa.table({"predicted": ["c"]})))
    assert found.serving == {}
