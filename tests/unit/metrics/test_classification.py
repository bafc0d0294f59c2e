"""Score names, and sets on which a score is hardly defined."""

import warnings

import numpy as np
import pytest
from pydantic import ValidationError

from burnish.errors import ConfigError
from burnish.metrics.classification import (
    F1,
    AccAndF1,
    Accuracy,
    CalibrationError,
    Confusion,
    LogLoss,
    Matthews,
    PrAuc,
    Precision,
    Recall,
    RocAuc,
    Sklearn,
)
from burnish.metrics.confidence import find_bin, reliability
from burnish.metrics.regression import R2, Mae, Mse, Pearson, Spearman
from burnish.spec.protocols import Metric
from burnish.spec.values import Outcome

ON_CLASSES = [Accuracy(), F1(), Precision(), Recall(), Matthews(), Confusion(), LogLoss(), CalibrationError(), RocAuc()]
ON_NUMBERS = [Pearson(), Spearman(), Mse(), Mae(), R2()]
EVERY = [*ON_CLASSES, PrAuc(), *ON_NUMBERS]


def binary(truth, decisions, *, outputs=None) -> Outcome:
    decisions = np.asarray(decisions, dtype=np.int64)
    outputs = np.eye(2)[decisions] if outputs is None else np.asarray(outputs)
    return Outcome("binary", np.arange(len(truth)), outputs, decisions, np.asarray(truth, np.int64), ("ham", "spam"))


def numbers(values, truth) -> Outcome:
    return Outcome("regression", np.arange(len(values)), np.asarray(values), np.asarray(values), np.asarray(truth))


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: type(metric).__name__)
def test_every_metric_is_one(metric) -> None:
    assert isinstance(metric, Metric)
    assert metric.better in ("higher", "lower")


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (F1(), "f1"),
        (F1(average="binary"), "f1_binary"),
        (Precision(average="macro"), "precision_macro"),
        (Recall(average="weighted"), "recall_weighted"),
        (F1(positive="Not Spam!"), "f1_not_spam"),
        (F1(positive="正面"), "f1_正面"),
        (F1(positive="+"), "f1_+"),
    ],
)
def test_a_name_tells_the_average_or_label_that_was_written(metric, name) -> None:
    assert metric.names() == (name,)


def test_labels_that_are_alike_in_a_name_keep_their_own_counts() -> None:
    labels = ("a b", "a-b", "c")
    outcome = Outcome("multiclass", np.arange(3), np.eye(3), np.arange(3), np.asarray([0, 1, 0]), labels)
    scores = Confusion().scores(outcome)
    assert len(scores) == 12
    assert [scores[f"true_positives_{label}"][0] for label in ("a_b", "a-b", "c")] == [1, 1, 0]


def test_a_binary_average_needs_two_classes_or_a_named_label() -> None:
    assert not F1(average="binary").applies("multiclass")
    assert F1(average="binary", positive="spam").applies("multiclass")
    assert F1().applies("multilabel")
    assert not F1().applies("regression")


def test_the_first_label_can_be_the_positive_one() -> None:
    outcome = binary([0, 0, 1], [0, 1, 1])
    assert F1(positive="ham").scores(outcome)["f1_ham"][0] == pytest.approx(2 / 3)
    assert Recall(positive="ham").scores(outcome)["recall_ham"][0] == 0.5


def test_an_unknown_positive_label_is_refused_with_the_labels() -> None:
    with pytest.raises(ConfigError, match=r"metrics\.f1\.positive is 'spm', which is not one of the labels ham, spam"):
        F1(positive="spm").scores(binary([0], [0]))


def test_positive_and_an_average_over_classes_are_refused_together() -> None:
    with pytest.raises(ValidationError, match="takes `positive` or `average: macro`, not both"):
        F1(average="macro", positive="spam")


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: type(metric).__name__)
@pytest.mark.parametrize("weights", [None, np.ones((2, 0))])
def test_an_empty_set_has_no_score(metric, weights) -> None:
    outcome = (
        numbers(np.zeros(0), np.zeros(0)) if metric.applies("regression") else binary([], [], outputs=np.zeros((0, 2)))
    )
    assert all(np.isnan(value).all() for value in quietly(metric, outcome, weights).values())


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: type(metric).__name__)
def test_a_nan_output_makes_the_score_nan(metric) -> None:
    nan = np.nan
    outcome = (
        numbers([1.0, nan, 2.0], [1.0, 2.0, 3.0])
        if metric.applies("regression")
        else binary([0, 1, 1], [0, 0, 1], outputs=[[0.5, 0.5], [nan, nan], [0.1, 0.9]])
    )
    assert all(np.isnan(value).all() for value in quietly(metric, outcome, np.ones((3, 3))).values())


@pytest.mark.parametrize("metric", EVERY, ids=lambda metric: type(metric).__name__)
@pytest.mark.parametrize("size", [1, 4])
def test_one_class_or_constant_values_are_scored_without_a_warning(metric, size) -> None:
    if metric.applies("regression"):
        outcome = numbers(np.full(size, 0.1), np.full(size, 0.1))
    else:
        outcome = binary([0] * size, [0] * size)
    values = quietly(metric, outcome, np.ones((2, size)))
    assert set(values) == set(metric.names())
    assert all(value.shape == (2,) for value in values.values())


def test_a_set_of_constant_values_is_known_as_such_although_rounding_gives_it_a_spread() -> None:
    random = np.random.default_rng(0)
    for _ in range(100):
        constant, other = np.full(6, random.normal()), random.normal(size=6)
        constant[-1] = random.normal() * 10
        # The one value that differs is in no set, so what is left is constant: about one in four rounds badly.
        weights = np.append(random.integers(1, 4, 5), 0.0)[None]
        assert np.isnan(Pearson().scores(numbers(constant, other), weights)["pearson"][0])
        assert np.isnan(Spearman().scores(numbers(constant, other), weights)["spearman"][0])
        assert R2().scores(numbers(other, constant), weights)["r2"][0] == 0.0


def test_a_bin_of_confidence_holds_its_upper_edge() -> None:
    assert find_bin(np.asarray([0.0, 0.1, 0.25, 0.26, 0.75, 1.0]), num_bins=4).tolist() == [0, 0, 0, 1, 2, 3]


def test_many_sets_over_many_rows_are_scored_in_pieces_with_the_same_digits() -> None:
    random = np.random.default_rng(0)
    outputs = random.dirichlet([1, 1], 3000)
    outcome = binary(random.integers(0, 2, 3000), outputs.argmax(axis=1), outputs=outputs)
    weights = random.integers(0, 3, (400, 3000)).astype(float)
    for metric in (RocAuc(), F1(), LogLoss()):
        name = metric.names()[0]
        alone = np.concatenate([metric.scores(outcome, row[None])[name] for row in weights])
        assert (metric.scores(outcome, weights)[name] == alone).all()


def test_reliability_groups_decisions_by_confidence() -> None:
    points = reliability(np.asarray([0.55, 0.6, 0.95, 1.0]), np.asarray([0.0, 1.0, 1.0, 1.0]), np.ones(4), num_bins=10)
    assert [(point.confidence, point.accuracy, point.count) for point in points] == [
        (pytest.approx(0.575), 0.5, 2),
        (pytest.approx(0.975), 1.0, 2),
    ]


def quietly(metric, outcome, weights=None):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return metric.scores(outcome, weights)


def test_the_mean_of_accuracy_and_f1_is_that_of_both() -> None:
    outcome = binary([0, 1, 1, 0, 1], [0, 1, 0, 0, 0])
    both = Accuracy().scores(outcome)["accuracy"] + F1().scores(outcome)["f1"]
    assert AccAndF1().scores(outcome)["acc_and_f1"] == pytest.approx(both / 2)


@pytest.mark.parametrize("name", ["balanced_accuracy_score", "cohen_kappa_score", "f1_score"])
def test_a_score_of_scikit_learn_is_its_own_with_and_without_weights(name: str) -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    outcome = binary([0, 1, 1, 0, 1], [0, 1, 0, 0, 0])
    metric = Sklearn(name=name)
    weights = np.array([[1.0, 2, 3, 0, 1], [1, 1, 1, 1, 1]])
    theirs = [getattr(sklearn, name)(outcome.truth, outcome.decisions, sample_weight=each) for each in weights]
    assert metric.names() == (name.removesuffix("_score"),)
    assert metric.scores(outcome, weights)[metric.names()[0]] == pytest.approx(theirs)
    assert metric.scores(outcome)[metric.names()[0]] == pytest.approx(theirs[1:])


@pytest.mark.parametrize(("name", "said"), [("no_such_score", "has no metric"), ("roc_curve", "cannot score this")])
def test_what_scikit_learn_cannot_score_is_refused(name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Sklearn(name=name).scores(binary([0, 1], [1, 1]))
