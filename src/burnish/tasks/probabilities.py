"""Turns logits into probabilities, and calibrates them and a threshold on validation rows."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from burnish.metrics.classification import F1, Accuracy, Matthews
from burnish.metrics.tally import with_weight
from burnish.spec.protocols import Metric
from burnish.spec.values import Array, Outcome, Profile


def softmax(logits: "Array") -> "Array":
    """Return shares [n, …, k] that add up to 1 along the last axis; minus infinity is 0."""
    if not len(logits):
        return logits
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def unlikelihood(shares: "Array", truth: "Array", lengths: "Array | None" = None) -> "Array":
    """Return minus the log of the share of each row's truth, summed over its decisions, and how many these are."""
    smallest = np.finfo(shares.dtype).tiny
    each = -np.log(np.maximum(shares[np.arange(len(truth)), truth], smallest))
    if lengths is None:
        return np.stack([each, np.ones_like(each)], axis=1)
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    return np.stack([np.bincount(row_of, weights=each, minlength=len(lengths)), lengths], axis=1)


_TINY = 1e-7
_ROUNDS = 50
_MOST_THRESHOLDS = 200
_SCORES: Mapping[str, Metric] = {"f1": F1(), "accuracy": Accuracy(), "matthews": Matthews()}


@dataclass(frozen=True)
class Calibration:
    """A change of log-probabilities: times `slope`, plus a shift of each class, or of the second of two."""

    slope: float = 1.0
    shift: tuple[float, ...] = ()
    """Of the last classes, one each; without any, no decision changes."""

    @classmethod
    def from_json(cls, values: Mapping[str, Any] | None) -> "Calibration":
        """Rebuild what `to_json` gave; nothing changes nothing."""
        if not values:
            return cls()
        shift = values.get("shift", ())  # a bare number, of the last class, in older artifacts
        return cls(values["slope"], tuple(shift) if isinstance(shift, list | tuple) else (shift,))

    def to_json(self) -> dict[str, Any]:
        """Return plain values, for the profile."""
        return asdict(self)

    def applied(self, shares: "Array") -> "Array":
        """Change probabilities [n, classes]."""
        if self == Calibration():
            return shares
        logits = np.log(np.clip(shares, _TINY, 1)) * self.slope
        logits[:, logits.shape[1] - len(self.shift) :] += self.shift
        raised = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def refined(outcome: Outcome, profile: Profile, *, calibration: str, threshold: float | str) -> Profile:
    """Fit to validation rows what the options ask for, and put it into the profile."""
    outcome = with_weight(outcome)
    if profile.kind == "regression" or outcome.truth is None or not len(outcome.rows):
        return profile
    fitted: dict[str, Any] = {}
    if calibration != "none":
        mended = fit_calibration(outcome.outputs, outcome.truth, how=calibration, weights=outcome.weights)
        fitted["calibration"] = mended.to_json()
        outcome = replace(outcome, outputs=mended.applied(outcome.outputs))
    if isinstance(threshold, str) and profile.kind == "binary":
        fitted["threshold"] = best_threshold(outcome, threshold)
    return replace(profile, facts={**profile.facts, "fitted": fitted}) if fitted else profile


def fit_calibration(shares: "Array", truth: "Array", *, how: str, weights: "Array | None" = None) -> Calibration:
    """Find the change that makes the truth likeliest, by Newton's method; only `platt` shifts classes."""
    kept = np.arange(len(truth)) if weights is None else np.flatnonzero(weights)
    sizes = np.full(len(kept), 1 / len(kept)) if weights is None else weights[kept] / weights.sum()
    classes, is_several = np.arange(shares.shape[1]), shares.shape[1] > 2
    if how == "platt" and is_several:
        classes = np.unique(truth[kept]).astype(np.int64)  # one without rows would be ruled out
    logits = np.log(np.clip(shares[np.ix_(kept, classes)].astype(np.float64), _TINY, 1))
    shifted = np.arange(0 if is_several else 1, len(classes) if how == "platt" else 0)
    likelihood = _Likelihood(logits, np.searchsorted(classes, truth[kept]), sizes, shifted)
    values = np.array([1.0, *np.zeros(len(shifted))])
    for _ in range(_ROUNDS):
        step = likelihood.shortened(likelihood.newton(values), values)
        values = values - step
        if np.abs(step).max() < 1e-9:
            break
    if not np.isfinite(values).all() or values[0] <= 0:
        return Calibration()  # answers that say nothing, or the opposite, are left as they are
    if how != "platt":
        return Calibration(float(values[0]))
    shifts = np.zeros(shares.shape[1])
    shifts[classes[shifted]] = values[1:]
    return Calibration(float(values[0]), tuple(shifts[0 if is_several else 1 :].tolist()))


def best_threshold(outcome: Outcome, score: str) -> float:
    """Find the probability from which to choose the second class, so that the score is best; the middle of ties."""
    shares = outcome.outputs[:, 1]
    steps = np.linspace(0, 1, _MOST_THRESHOLDS)
    cuts = np.unique(np.quantile(shares, steps, weights=outcome.weights, method="inverted_cdf"))
    candidates = np.unique(np.concatenate([[0.5], (cuts[1:] + cuts[:-1]) / 2]))
    scores = np.array([_score(outcome, (shares >= cut).astype(np.int64), score) for cut in candidates.tolist()])
    best = np.flatnonzero(scores >= np.nanmax(scores) - 1e-12) if np.isfinite(scores).any() else np.array([0])
    return float(candidates[best[len(best) // 2]]) if len(candidates) > 1 else 0.5


def _score(outcome: Outcome, decisions: "Array", score: str) -> float:
    metric = _SCORES[score]
    return float(metric.scores(replace(outcome, decisions=decisions))[metric.names()[0]][0])


@dataclass(frozen=True)
class _Likelihood:
    """How likely the truth is once log-probabilities are changed by values: a slope, and a shift for some classes."""

    logits: "Array"
    truth: "Array"
    sizes: "Array"
    """What each row weighs; 1 in all."""
    shifted: "Array"

    def newton(self, values: "Array") -> "Array":
        """Return the step to subtract."""
        shares = np.exp(self._log_shares(values))
        off = shares.copy()
        off[np.arange(len(off)), self.truth] -= 1
        own = shares[:, self.shifted]
        # Not matrix products: their digits change with the number of threads, those of einsum do not.
        spread = shares * (self.logits - np.einsum("nk,nk->n", shares, self.logits)[:, None])
        across = np.einsum("n,nk->k", self.sizes, spread[:, self.shifted])
        bend = np.diag(np.array([0.0, *np.einsum("n,nk->k", self.sizes, own)]))
        bend[0, 0] = np.einsum("n,nk,nk->", self.sizes, spread, self.logits)
        bend[0, 1:] = bend[1:, 0] = across
        bend[1:, 1:] -= np.einsum("nk,nj->kj", own * self.sizes[:, None], own)
        slope = np.einsum("n,nk,nk->", self.sizes, off, self.logits)
        slopes = np.array([slope, *np.einsum("n,nk->k", self.sizes, off[:, self.shifted])])
        # A little of the identity keeps the step short where the curve is flat.
        return np.asarray(np.linalg.solve(bend + 1e-9 * np.eye(len(values)), slopes))

    def shortened(self, step: "Array", values: "Array") -> "Array":
        """Halve a step until it leads down: far from the goal the curve is flat, and a whole step would leap over."""
        here = self._loss(values)
        for _ in range(_ROUNDS):
            if self._loss(values - step) <= here:
                return step
            step = step / 2
        return np.zeros_like(step)

    def _loss(self, values: "Array") -> float:
        return float(-np.einsum("n,n->", self.sizes, self._log_shares(values)[np.arange(len(self.truth)), self.truth]))

    def _log_shares(self, values: "Array") -> "Array":
        logits = self.logits * values[0]
        logits[:, self.shifted] += values[1:]
        logits -= logits.max(axis=1, keepdims=True)
        return np.asarray(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))
