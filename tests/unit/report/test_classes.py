"""Scores by class are those of scikit-learn, with and without row weights."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.report.classes import class_scores, ranking_curves
from burnish.spec.values import Outcome


def outcome_of(kind: str, *, seed: int, num_labels: int, is_weighted: bool) -> Outcome:
    random = np.random.default_rng(seed)
    outputs = random.dirichlet(np.ones(num_labels), size=60).round(2)
    truth = random.integers(0, num_labels, 60)
    decisions = outputs.argmax(axis=1)
    if kind == "multilabel":
        truth, decisions = (random.random((60, num_labels)) < 0.4).astype(int), (outputs > 0.3).astype(int)
    return Outcome(
        kind=kind,
        rows=np.arange(60),
        outputs=outputs,
        decisions=decisions,
        truth=truth,
        labels=tuple("abcdefgh"[:num_labels]),
        weights=random.integers(0, 4, 60).astype(float) if is_weighted else None,
    )


@given(st.sampled_from(["binary", "multiclass", "multilabel"]), st.integers(0, 10**6), st.integers(2, 8), st.booleans())
def test_precision_recall_and_f1_are_scikit_learns(kind: str, seed: int, num_labels: int, is_weighted: bool) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    outcome = outcome_of(kind, seed=seed, num_labels=2 if kind == "binary" else num_labels, is_weighted=is_weighted)
    labels = list(range(len(outcome.labels)))
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(
        outcome.truth, outcome.decisions, labels=labels, sample_weight=outcome.weights, zero_division=0
    )
    found = class_scores(outcome)
    assert [each.label for each in found] == list(outcome.labels)
    np.testing.assert_allclose([each.precision for each in found], precision)
    np.testing.assert_allclose([each.recall for each in found], recall)
    np.testing.assert_allclose([each.f1 for each in found], f1)


@given(st.integers(0, 10**6), st.booleans())
def test_curves_of_two_classes_are_scikit_learns(seed: int, is_weighted: bool) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    outcome = outcome_of("binary", seed=seed, num_labels=2, is_weighted=is_weighted)
    if outcome.weights is not None:
        outcome = replace(outcome, weights=outcome.weights + 1)  # scikit-learn leaves points of no weight out
    (curve,) = ranking_curves(outcome)
    score = outcome.outputs[:, 1]
    fallout, recall, _ = metrics.roc_curve(outcome.truth, score, sample_weight=outcome.weights, drop_intermediate=False)
    np.testing.assert_allclose(curve.roc, np.column_stack([fallout, recall]))
    precision, recall, least = metrics.precision_recall_curve(outcome.truth, score, sample_weight=outcome.weights)
    expected = np.column_stack([recall, precision])[:-1][::-1]  # without its last point, which it makes up
    np.testing.assert_allclose(curve.precision_recall, expected)
    np.testing.assert_allclose(curve.by_threshold, np.column_stack([least, precision[:-1], recall[:-1]])[::-1])
    assert curve.roc_auc == pytest.approx(metrics.roc_auc_score(outcome.truth, score, sample_weight=outcome.weights))
    assert curve.label == "b"


def test_many_classes_show_the_most_frequent() -> None:
    curves = ranking_curves(outcome_of("multiclass", seed=1, num_labels=8, is_weighted=False))
    assert len(curves) == 6


def test_a_class_without_rows_has_no_curve() -> None:
    outcome = outcome_of("binary", seed=0, num_labels=2, is_weighted=False)
    assert ranking_curves(replace(outcome, truth=np.ones(60, int))) == ()


def test_numbers_have_no_classes() -> None:
    values = np.arange(3.0)
    outcome = Outcome(kind="regression", rows=np.arange(3), outputs=values, decisions=values, truth=values)
    assert class_scores(outcome) == ranking_curves(outcome) == ()
