"""Paired comparisons say which run is better, or that no difference is shown."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from burnish.errors import DataError
from burnish.metrics.classification import F1, Accuracy
from burnish.metrics.compare import Comparison, compare, mcnemar
from burnish.metrics.regression import Mse, Pearson
from burnish.spec.values import Outcome


def binary(decisions, truth) -> Outcome:
    decisions, truth = np.asarray(decisions, dtype=np.int64), np.asarray(truth, dtype=np.int64)
    return Outcome("binary", np.arange(len(truth)), np.eye(2)[decisions], decisions, truth, ("no", "yes"))


def right_on(share: float, *, seed: int, num_rows: int = 600) -> Outcome:
    truth = np.arange(num_rows) % 2
    is_right = np.random.default_rng(seed).random(num_rows) < share
    return binary(np.where(is_right, truth, 1 - truth), truth)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_mcnemar_is_the_binomial_test_of_the_rows_that_differ(rows) -> None:
    first, second = (np.asarray(column) for column in zip(*rows, strict=True))
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    num = only_first + only_second
    expected = stats.binomtest(only_first, num).pvalue if num else 1.0
    assert mcnemar(first, second) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("metric", [Accuracy(), F1()])
def test_a_clear_gain_is_shown_with_its_size(metric) -> None:
    found = compare(right_on(0.7, seed=1), right_on(0.9, seed=2), metric=metric)
    assert found.is_shown
    assert found.low is not None
    assert found.low > 0
    assert found.sentence().startswith("B is better by ")
    assert found.sentence().endswith("p < 0.001)")


@pytest.mark.parametrize("metric", [Accuracy(), F1()])
def test_two_runs_of_like_quality_show_no_difference(metric) -> None:
    found = compare(right_on(0.8, seed=1), right_on(0.8, seed=2), metric=metric, names=("old", "new"))
    assert not found.is_shown
    assert found.sentence().startswith("no significant difference: new minus old is ")


def test_swapping_the_runs_swaps_the_sign_and_names_the_same_winner() -> None:
    weak, strong = right_on(0.7, seed=1), right_on(0.9, seed=2)
    there = compare(weak, strong, metric=F1(), names=("weak", "strong"))
    back = compare(strong, weak, metric=F1(), names=("strong", "weak"))
    assert there.difference == -back.difference
    assert there.sentence() == back.sentence()


def test_a_lower_error_is_better_and_is_not_told_in_points() -> None:
    truth = np.linspace(0, 5, 80)
    noise = np.random.default_rng(0).normal(size=80)
    near, far = (Outcome("regression", np.arange(80), truth + noise * k, truth + noise * k, truth) for k in (0.2, 1.0))
    found = compare(near, far, metric=Mse(), names=("near", "far"))
    assert found.sentence().startswith("near is better by ")
    assert "points" not in found.sentence()


def test_the_sentence_reads_as_documented() -> None:
    found = Comparison("accuracy", ("A", "B"), (0.9, 0.912), 0.012, 0.003, 0.021, 0.014, "McNemar, exact", 872)
    assert found.sentence() == "B is better by 1.2 points (95% interval 0.3 to 2.1, p = 0.01)"


def test_order_of_rows_does_not_matter() -> None:
    first, second = right_on(0.7, seed=1), right_on(0.8, seed=2)
    back = np.arange(600)[::-1]
    shuffled = Outcome(
        "binary", second.rows[back], second.outputs[back], second.decisions[back], second.truth[back], second.labels
    )
    assert compare(first, shuffled, metric=F1()) == compare(first, second, metric=F1())


def test_the_same_run_twice_shows_nothing() -> None:
    found = compare(right_on(0.7, seed=1), right_on(0.7, seed=1), metric=F1())
    assert (found.difference, found.p_value) == (0.0, 1.0)


def test_an_undefined_score_cannot_be_compared() -> None:
    constant = Outcome("regression", np.arange(4), np.ones(4), np.ones(4), np.arange(4.0))
    found = compare(constant, constant, metric=Pearson())
    assert math.isnan(found.p_value)
    assert found.sentence() == "A and B cannot be compared: pearson has no finite value for both"


def test_a_test_needs_enough_resampled_sets_with_a_score() -> None:
    truth = np.arange(4.0)
    told = Outcome("regression", np.arange(4), truth, truth, truth)
    assert compare(told, told, metric=Pearson(), resamples=200).is_tested
    found = compare(told, told, metric=Pearson(), resamples=30)  # so few cannot show a difference, whatever they are
    assert not found.is_tested
    assert found.sentence() == "A and B cannot be compared: pearson is defined on too few of the resampled sets of rows"


def test_other_rows_other_truth_and_other_labels_are_refused() -> None:
    outcome = right_on(0.7, seed=1)
    with pytest.raises(DataError, match=r"A \(600 rows\) and B \(10 rows\) were not scored on the same rows"):
        compare(outcome, right_on(0.7, seed=1, num_rows=10), metric=Accuracy())
    with pytest.raises(DataError, match="not scored on the same rows"):
        compare(outcome, binary(outcome.decisions, 1 - outcome.truth), metric=Accuracy())
    other = Outcome("binary", outcome.rows, outcome.outputs, outcome.decisions, outcome.truth, ("x", "y"))
    with pytest.raises(DataError, match="do not predict the same labels"):
        compare(outcome, other, metric=Accuracy())
    unlabelled = Outcome("binary", outcome.rows, outcome.outputs, outcome.decisions, None, outcome.labels)
    with pytest.raises(DataError, match="truth is known"):
        compare(outcome, unlabelled, metric=Accuracy())
