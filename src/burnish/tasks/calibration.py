"""Makes probabilities mean what they say, and finds the threshold that a score likes best, on validation rows."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from burnish.metrics.classification import F1, Accuracy, Matthews
from burnish.spec.protocols import Metric
from burnish.spec.values import Outcome, Profile

if TYPE_CHECKING:
    from burnish.spec.values import Array

_TINY = 1e-7
_ROUNDS = 50
_MOST_THRESHOLDS = 200
_SCORES: Mapping[str, Metric] = {"f1": F1(), "accuracy": Accuracy(), "matthews": Matthews()}


@dataclass(frozen=True)
class Calibration:
    """A monotone change of log-probabilities: times `slope`, and for two classes plus `shift` on the second."""

    slope: float = 1.0
    shift: float = 0.0

    @classmethod
    def from_json(cls, values: Mapping[str, Any] | None) -> "Calibration":
        """Rebuild what `to_json` gave; nothing changes nothing."""
        return cls(**values) if values else cls()

    def to_json(self) -> dict[str, float]:
        """Give plain values, for the profile."""
        return asdict(self)

    def applied(self, shares: "Array") -> "Array":
        """Change probabilities [n, classes]."""
        if self == Calibration():
            return shares
        logits = np.log(np.clip(shares, _TINY, 1)) * self.slope
        logits[:, -1] += self.shift
        raised = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def refined(outcome: Outcome, profile: Profile, *, calibration: str, threshold: float | str) -> Profile:
    """Fit to validation rows what the options ask for, and put it into the profile."""
    if profile.kind == "regression" or outcome.truth is None or not len(outcome.rows):
        return profile
    fitted: dict[str, Any] = {}
    if calibration != "none":
        mended = fit_calibration(outcome.outputs, outcome.truth, how=calibration)
        fitted["calibration"] = mended.to_json()
        outcome = replace(outcome, outputs=mended.applied(outcome.outputs))
    if isinstance(threshold, str) and profile.kind == "binary":
        fitted["threshold"] = best_threshold(outcome, threshold)
    return replace(profile, facts={**profile.facts, "fitted": fitted}) if fitted else profile


def fit_calibration(shares: "Array", truth: "Array", *, how: str) -> Calibration:
    """Find the change that makes the truth likeliest, by Newton's method; only `platt` has a shift."""
    logits = np.log(np.clip(shares.astype(np.float64), _TINY, 1))
    last = np.zeros_like(logits)
    last[:, -1] = 1.0
    directions = [logits, last] if how == "platt" else [logits]
    values = np.array([1.0, 0.0][: len(directions)])
    for _ in range(_ROUNDS):
        step = _shortened(_newton(directions, values, truth), directions, values, truth)
        values = values - step
        if np.abs(step).max() < 1e-9:
            break
    slope = float(values[0])
    if not np.isfinite(values).all() or slope <= 0:
        return Calibration()  # answers that say nothing, or the opposite, are left as they are
    return Calibration(slope, float(values[1]) if how == "platt" else 0.0)


def best_threshold(outcome: Outcome, score: str) -> float:
    """Find the probability from which to choose the second class, so that the score is best; the middle of ties."""
    shares = outcome.outputs[:, 1]
    cuts = np.unique(np.quantile(shares, np.linspace(0, 1, _MOST_THRESHOLDS)))
    candidates = np.unique(np.concatenate([[0.5], (cuts[1:] + cuts[:-1]) / 2]))
    scores = np.array([_score(outcome, (shares >= cut).astype(np.int64), score) for cut in candidates.tolist()])
    best = np.flatnonzero(scores >= np.nanmax(scores) - 1e-12) if np.isfinite(scores).any() else np.array([0])
    return float(candidates[best[len(best) // 2]]) if len(candidates) > 1 else 0.5


def _score(outcome: Outcome, decisions: "Array", score: str) -> float:
    metric = _SCORES[score]
    return float(metric.scores(replace(outcome, decisions=decisions))[metric.names()[0]][0])


def _newton(directions: "list[Array]", values: "Array", truth: "Array") -> "Array":
    shares = np.exp(_log_shares(directions, values))
    means = [(shares * direction).sum(axis=1) for direction in directions]
    there = [direction[np.arange(len(truth)), truth.astype(np.int64)] for direction in directions]
    slope = np.array([(mean - at_truth).mean() for mean, at_truth in zip(means, there, strict=True)])
    offs = [direction - mean[:, None] for direction, mean in zip(directions, means, strict=True)]
    bend = np.array([[(shares * first * second).sum(axis=1).mean() for second in offs] for first in offs])
    # A little of the identity keeps the step short where the curve is flat.
    return np.asarray(np.linalg.solve(bend + 1e-9 * np.eye(len(values)), slope))


def _shortened(step: "Array", directions: "list[Array]", values: "Array", truth: "Array") -> "Array":
    """Halve a step until it leads down: far from the goal the curve is flat, and a whole step would leap over it."""
    here = _loss(directions, values, truth)
    for _ in range(_ROUNDS):
        if _loss(directions, values - step, truth) <= here:
            return step
        step = step / 2
    return np.zeros_like(step)


def _loss(directions: "list[Array]", values: "Array", truth: "Array") -> float:
    return float(-_log_shares(directions, values)[np.arange(len(truth)), truth.astype(np.int64)].mean())


def _log_shares(directions: "list[Array]", values: "Array") -> "Array":
    logits = np.sum([value * direction for value, direction in zip(values, directions, strict=True)], axis=0)
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))
