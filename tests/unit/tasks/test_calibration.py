"""Probabilities are mended and thresholds found on validation rows, and the profile carries both."""

import json

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from burnish.spec.values import Outcome, Profile
from burnish.tasks.probabilities import Calibration, best_threshold, fit_calibration, refined

LABELS = ("no", "yes")


def sharpened(num_rows: int = 4000, *, slope: float = 3.0, shift: float = 0.8) -> tuple[np.ndarray, np.ndarray]:
    """Give overconfident, slanted probabilities, and truths drawn from honest ones."""
    random = np.random.default_rng(1)
    honest = random.normal(size=num_rows)
    truth = (random.random(num_rows) < 1 / (1 + np.exp(-honest))).astype(np.int64)
    said = 1 / (1 + np.exp(-(slope * honest + shift)))
    return np.stack([1 - said, said], axis=1), truth


def outcome(shares: np.ndarray, truth: np.ndarray, kind: str = "binary") -> Outcome:
    return Outcome(kind, np.arange(len(truth)), shares, shares.argmax(axis=1), truth, LABELS)


def log_loss(shares: np.ndarray, truth: np.ndarray) -> float:
    return float(-np.log(shares[np.arange(len(truth)), truth]).mean())


def test_platt_finds_the_slope_and_the_shift_that_were_put_in() -> None:
    shares, truth = sharpened()
    found = fit_calibration(shares, truth, how="platt")
    assert found.slope == pytest.approx(1 / 3, abs=0.04)
    assert found.shift == pytest.approx((-0.8 / 3,), abs=0.08)
    assert log_loss(found.applied(shares), truth) < log_loss(shares, truth) - 0.1


def test_temperature_never_changes_a_decision() -> None:
    shares, truth = sharpened()
    found = fit_calibration(shares, truth, how="temperature")
    assert found.shift == ()
    assert (found.applied(shares).argmax(axis=1) == shares.argmax(axis=1)).all()
    assert log_loss(found.applied(shares), truth) < log_loss(shares, truth)


def test_several_classes_have_a_temperature_too() -> None:
    random = np.random.default_rng(0)
    logits = random.normal(size=(3000, 4))
    honest = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    truth = (honest.cumsum(axis=1) < random.random((3000, 1))).sum(axis=1)
    sharp = np.exp(2 * logits) / np.exp(2 * logits).sum(axis=1, keepdims=True)
    assert fit_calibration(sharp, truth, how="temperature").slope == pytest.approx(0.5, abs=0.05)


def slanted(shifts: list[float], *, num_rows: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    """Give probabilities of several classes that are off by a slope of 2 and a shift of each, and honest truths."""
    random = np.random.default_rng(0)
    logits = random.normal(size=(num_rows, len(shifts)))
    truth = (softmax(logits, axis=1).cumsum(axis=1) < random.random((num_rows, 1))).sum(axis=1)
    return softmax(2 * logits + shifts, axis=1), truth


def test_platt_shifts_each_of_several_classes() -> None:
    shares, truth = slanted([1.0, -1.0, 0.5, 0.0])

    def loss(values: np.ndarray) -> float:
        return log_loss(softmax(np.log(shares) * values[0] + values[1:], axis=1), truth)

    best = minimize(loss, [1.0, 0, 0, 0, 0], tol=1e-10)
    found = fit_calibration(shares, truth, how="platt")
    assert found.slope == pytest.approx(best.x[0], abs=1e-4)
    assert np.asarray(found.shift) - found.shift[0] == pytest.approx(best.x[1:] - best.x[1], abs=1e-3)
    assert log_loss(found.applied(shares), truth) == pytest.approx(best.fun, abs=1e-9)
    assert found.applied(shares).mean(axis=0) == pytest.approx(np.bincount(truth) / len(truth), abs=1e-6)


def test_a_class_without_validation_rows_is_not_ruled_out() -> None:
    shares, truth = slanted([0.0, 0.0, 0.0])
    seen = truth != 2
    found = fit_calibration(shares[seen], truth[seen], how="platt")
    assert found.shift[2] == 0
    assert found.applied(shares)[:, 2].mean() > 0.01


def test_what_older_artifacts_hold_is_applied_as_it_was() -> None:
    shares, _ = slanted([0.0, 0.0, 0.0], num_rows=20)
    found = Calibration.from_json({"slope": 0.5, "shift": 0.7})
    assert found.applied(shares) == pytest.approx(softmax(np.log(shares) * 0.5 + [0, 0, 0.7], axis=1))
    assert Calibration.from_json(json.loads(json.dumps(found.to_json()))) == found


@pytest.mark.parametrize("how", ["platt", "temperature"])
def test_answers_that_say_nothing_are_left_as_they_are(how: str) -> None:
    shares = np.full((10, 2), 0.5)
    found = fit_calibration(shares, np.array([0, 1] * 5), how=how)
    np.testing.assert_allclose(found.applied(shares), shares, atol=1e-6)
    assert fit_calibration(shares[:, ::-1].copy(), np.zeros(10, np.int64), how=how).applied(shares).shape == (10, 2)


def test_a_threshold_is_as_good_as_the_best_of_all() -> None:
    shares, truth = sharpened(300)
    found = best_threshold(outcome(shares, truth), "f1")

    def f1(cut: float) -> float:
        chosen = shares[:, 1] >= cut
        return 2 * (chosen & (truth == 1)).sum() / (chosen.sum() + (truth == 1).sum())

    best = max(f1(cut) for cut in np.unique(shares[:, 1]))
    assert f1(found) >= best - 0.01
    assert f1(found) >= f1(0.5)


def test_the_profile_carries_what_was_fitted_and_nothing_else() -> None:
    shares, truth = sharpened()
    profile = Profile("binary", LABELS, {"kept": 1})
    fitted = refined(outcome(shares, truth), profile, calibration="platt", threshold="f1")
    assert set(fitted.facts) == {"kept", "fitted"}
    assert set(fitted.facts["fitted"]) == {"calibration", "threshold"}
    assert Calibration.from_json(fitted.facts["fitted"]["calibration"]).slope < 1
    assert refined(outcome(shares, truth), profile, calibration="none", threshold=0.3) is profile
