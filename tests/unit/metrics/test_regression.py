"""Errors and deviances are those that scikit-learn computes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as oracle

from burnish.metrics.regression import GammaDeviance, Pinball, PoissonDeviance, Rmse
from burnish.spec.values import Outcome

POSITIVE = st.floats(0.01, 100)


def outcome(values: list[float], truth: list[float]) -> Outcome:
    said = np.array(values)
    return Outcome("regression", np.arange(len(said)), said, said, np.array(truth))


@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=2, max_size=30), st.floats(0.05, 0.95))
def test_every_score_is_the_oracles(pairs: list[tuple[float, float]], quantile: float) -> None:
    values, truth = (list(each) for each in zip(*pairs, strict=True))
    scored = outcome(values, truth)
    expected = {
        Rmse(): oracle.root_mean_squared_error(truth, values),
        PoissonDeviance(): oracle.mean_poisson_deviance(truth, values),
        GammaDeviance(): oracle.mean_gamma_deviance(truth, values),
        Pinball(quantile=quantile): oracle.mean_pinball_loss(truth, values, alpha=quantile),
    }
    for metric, figure in expected.items():
        assert metric.scores(scored)[metric.names()[0]][0] == pytest.approx(figure, rel=1e-9, abs=1e-9)


def test_counts_of_zero_are_counts() -> None:
    scored = outcome([1.0, 2.0], [0.0, 3.0])
    assert PoissonDeviance().scores(scored)["poisson_deviance"][0] == pytest.approx(
        oracle.mean_poisson_deviance([0, 3], [1, 2])
    )


def test_truths_that_a_deviance_cannot_take_give_nan() -> None:
    assert np.isnan(PoissonDeviance().scores(outcome([1.0], [-1.0]))["poisson_deviance"][0])
    assert np.isnan(GammaDeviance().scores(outcome([1.0], [0.0]))["gamma_deviance"][0])


def test_weights_count_as_rows() -> None:
    weights = np.array([[2.0, 1.0, 0.0]])
    weighted = Rmse().scores(outcome([1.0, 2.0, 9.0], [0.0, 0.0, 0.0]), weights)["rmse"][0]
    assert weighted == pytest.approx(Rmse().scores(outcome([1.0, 1.0, 2.0], [0.0] * 3))["rmse"][0])
