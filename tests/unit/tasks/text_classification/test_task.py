"""The task's own choices: kind, classes, weights, what it refuses."""

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from burnish.data.truncation import Head, RandomSpans
from burnish.errors import ConfigError, DataError
from burnish.spec.values import RowOrigins, Rows
from burnish.tasks.labels import Measure
from burnish.tasks.text_classification import TextClassification


def rows(**columns: list[object]) -> Rows:
    table = pa.table(columns)
    count = table.num_rows
    return Rows(table, RowOrigins(("x.csv",), np.zeros(count, int), np.arange(count), (2,)))


def task(**options: object) -> TextClassification:
    return TextClassification(**{"truncation": Head(), **options})  # type: ignore[arg-type]


def test_classes_and_counts_come_from_the_rows() -> None:
    profile = task().profile(rows(text=["a", "b", "c"], label=["x", "y", "x"]))
    assert (profile.kind, profile.labels) == ("binary", ("x", "y"))
    assert profile.facts["label_counts"] == {"x": 2, "y": 1}


def test_given_classes_keep_their_order() -> None:
    profile = task(labels=("pos", "neg")).profile(rows(text=["a", "b"], label=["neg", "pos"]))
    assert profile.labels == ("pos", "neg")


def test_balanced_weights_make_every_class_count_the_same() -> None:
    chosen = task(class_weights="balanced")
    profile = chosen.profile(rows(text=list("abcd"), label=["x", "x", "x", "y"]))
    weights = chosen.head(profile).objective.class_weights
    assert weights == pytest.approx((4 / 6, 2.0))


def test_weights_by_name_default_to_one() -> None:
    chosen = task(class_weights={"y": 5.0})
    profile = chosen.profile(rows(text=list("ab"), label=["x", "y"]))
    assert chosen.head(profile).objective.class_weights == (1.0, 5.0)


def test_a_weight_for_a_class_that_is_not_there_is_refused() -> None:
    chosen = task(class_weights={"Y": 5.0})
    profile = chosen.profile(rows(text=list("ab"), label=["x", "y"]))
    with pytest.raises(ConfigError, match="names Y, and the labels are x, y"):
        chosen.head(profile)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"labels": ("x", "y"), "class_weights": {"z": 2.0}}, "has `class_weights` for z, and `labels` are x, y"),
        ({"labels": ("x", "y", "z"), "kind": "binary"}, "needs two labels, and `labels` names 3"),
        ({"labels": ("x", "y", "x")}, "names a label twice in `labels`: x"),
        ({"kind": "regression", "class_weights": "balanced", "loss": "focal"}, "has `loss` and `class_weights`, with"),
        ({"kind": "multilabel", "loss": "focal"}, "has `loss: focal`, without effect on multilabel"),
        ({"loss": "focal", "label_smoothing": 0.1}, "has `label_smoothing`, without effect on `loss: focal`"),
    ],
)
def test_options_that_do_not_go_together_are_refused_before_data_is_seen(options: object, sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        task(**options)


def test_an_option_without_effect_on_the_kind_that_was_found_is_refused() -> None:
    chosen = task(label_smoothing=0.1)
    profile = chosen.profile(rows(text=list("ab"), label=[0.25, 1.5]))
    with pytest.raises(ConfigError, match="task has `label_smoothing`, without effect on regression"):
        chosen.head(profile)


def test_a_number_is_standardised_by_the_training_rows_and_given_back() -> None:
    labels = ["1000", "1200", "", "oops", "1500"]
    profile = task(kind="regression").profile(rows(text=list("abcde"), label=labels))
    known = np.array([1000.0, 1200.0, 1500.0])
    measure = Measure.of_profile(profile)
    assert measure.taught(known) == pytest.approx((known - known.mean()) / known.std())
    assert measure.answers(measure.taught(known)) == pytest.approx(known)
    assert (profile.facts["lowest"], profile.facts["highest"]) == (1000.0, 1500.0)


def test_one_class_is_refused() -> None:
    with pytest.raises(DataError, match=r"hold 1 distinct label in column label \(x\); at least 2"):
        task().profile(rows(text=["a", "b"], label=["x", "x"]))


def test_three_classes_are_not_binary() -> None:
    with pytest.raises(DataError, match="holds 3 distinct labels"):
        task(kind="binary").profile(rows(text=list("abc"), label=list("xyz")))


def test_several_label_columns_are_multilabel_only() -> None:
    with pytest.raises(ValidationError, match="means multilabel"):
        task(label=("a", "b"), kind="binary")


def test_views_need_a_random_truncation() -> None:
    with pytest.raises(ValidationError, match="needs a random truncation"):
        task(num_views=3)
    assert task(num_views=3, truncation=RandomSpans()).num_views == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [([1, 2], "int64"), ([["a"], ["b"]], "list<"), ([b"\xff", b"\xfe"], "binary"), ([{"a": 1}, {"a": 2}], "struct<")],
)
def test_a_text_column_must_hold_text(text: list[object], said: str) -> None:
    with pytest.raises(DataError, match=f"the column `text` holds {said}.*, and text is needed"):
        task().profile(rows(text=text, label=["x", "y"]))


def test_labels_must_be_words_numbers_or_lists_of_them() -> None:
    with pytest.raises(DataError, match="`label` holds struct"):
        task().profile(rows(text=["a", "b"], label=[{"a": 1}, {"a": 2}]))
    with pytest.raises(DataError, match=r"lists of labels, which is multilabel; task.kind is multiclass"):
        task(kind="multiclass").profile(rows(text=["a", "b"], label=[["x"], ["y"]]))


def test_truth_values_keep_their_names() -> None:
    assert task().profile(rows(text=["a", "b"], label=[True, False])).labels == ("false", "true")
