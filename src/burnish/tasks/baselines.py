"""Learns what any model must beat, from rows of numbers: the majority, and a linear model."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np

from burnish.metrics.sums import Array
from burnish.spec.values import Outcome, Times

Predict = Callable[[Any], Array]
"""A model that was learned: takes examples as rows of numbers, sparse or not, and gives its outputs."""


def timed(fit: Callable[[], Callable[[], Array]], now: Callable[[], float] = perf_counter) -> tuple[Array, Times]:
    """Let a model learn and then predict, and say how long each took."""
    began = now()
    predict = fit()
    learned = now()
    outputs = predict()
    return outputs, Times(learned - began, now() - learned)


@dataclass(frozen=True)
class Standing:
    """What every baseline's outcome has in common."""

    kind: str
    labels: tuple[str, ...]
    rows: Array
    truth: Array | None
    weights: Array | None = None

    @property
    def num_labels(self) -> int:
        """Count the classes."""
        return max(len(self.labels), 2)

    def outcome(self, outputs: Array) -> Outcome:
        """Decide by a baseline's outputs."""
        return Outcome(
            self.kind, self.rows, outputs, self._decide(outputs), self.truth, self.labels, weights=self.weights
        )

    def learned(self, fit: Callable[[], Callable[[], Array]]) -> Outcome:
        """Let a baseline learn and predict, and decide by its outputs."""
        outputs, times = timed(fit)
        return replace(self.outcome(outputs), times=times)

    def usual(self, targets: Array, weights: Array | None = None) -> Outcome:
        """Predict what `constant` gives, which takes no time once it is known."""

        def fit() -> Callable[[], Array]:
            outputs = constant(targets, self, weights)
            return lambda: outputs

        return self.learned(fit)

    def _decide(self, outputs: Array) -> Array:
        if self.kind == "regression":
            return outputs
        return (outputs >= 0.5).astype(np.int64) if self.kind == "multilabel" else outputs.argmax(axis=1)


def constant(targets: Array, frame: Standing, weights: Array | None = None) -> Array:
    """Give every example the shares of the training labels, or their mean."""
    if frame.kind == "regression":
        return np.full(len(frame.rows), np.average(targets, weights=weights))
    if frame.kind == "multilabel":
        return np.tile(np.average(targets, axis=0, weights=weights), (len(frame.rows), 1))
    counts = np.bincount(targets.astype(np.int64), weights=weights, minlength=frame.num_labels)
    return np.tile(counts / counts.sum(), (len(frame.rows), 1))


def sample(size: int, *, most: int, seed: int) -> Array:
    """Choose so many rows by chance, in order; all of them if there are no more."""
    if size <= most:
        return np.arange(size)
    return np.sort(np.random.Generator(np.random.Philox(seed)).choice(size, most, replace=False))


def linear(train: Any, targets: Array, *, frame: Standing, seed: int, weights: Array | None = None) -> Predict:
    """Learn a linear model from examples as rows of numbers."""
    if weights is not None and not weights.all():
        kept = np.flatnonzero(weights)
        train, targets, weights = train[kept], targets[kept], weights[kept]
    if frame.kind == "regression":
        model = import_module("sklearn.linear_model").Ridge(solver="lsqr").fit(train, targets, weights)
        return lambda asked: np.asarray(model.predict(asked), dtype=np.float64)
    if frame.kind == "multilabel":
        columns = [_probability(train, column, weights, seed=seed) for column in targets.T]
        return lambda asked: np.stack([each(asked) for each in columns], axis=1)
    if len(np.unique(targets)) == 2:
        present = np.unique(targets)
        second = _probability(train, targets == present[1], weights, seed=seed)
        return lambda asked: _spread(_both(second(asked)), present, size=frame.num_labels)
    if len(np.unique(targets)) < 2:
        return lambda asked: _spread(np.ones((asked.shape[0], 1)), np.unique(targets), size=frame.num_labels)
    # A loose tolerance: the last digits of a baseline are not worth a minute.
    model = import_module("sklearn.linear_model").LogisticRegression(C=10, solver="lbfgs", tol=1e-3, max_iter=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(train, targets, weights)
    return lambda asked: _spread(model.predict_proba(asked), model.classes_, size=frame.num_labels)


def log_linear(train: Any, targets: Array, *, weights: Array | None = None) -> Predict:
    """Learn the logarithm of the mean, where a loss is not defined for a prediction below 0."""
    model = import_module("sklearn.linear_model").PoissonRegressor(alpha=1e-3, max_iter=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as above: a baseline need not have converged
        model.fit(train, targets, weights)
    return lambda asked: np.asarray(model.predict(asked), dtype=np.float64)


def _probability(train: Any, targets: Array, weights: Array | None, *, seed: int) -> Predict:
    is_true = targets.astype(np.int64)
    if len(np.unique(is_true)) < 2:
        return lambda asked: np.full(asked.shape[0], float(is_true[0]))
    model = import_module("sklearn.linear_model").LogisticRegression(C=10, solver="liblinear", random_state=seed)
    model.fit(train, is_true, weights)
    return lambda asked: np.asarray(model.predict_proba(asked)[:, 1], dtype=np.float64)


def _both(second: Array) -> Array:
    return np.stack([1 - second, second], axis=1)


def _spread(outputs: Array, present: Array, *, size: int) -> Array:
    """Put the columns of the classes that were seen where they belong among all."""
    spread = np.zeros((len(outputs), size))
    spread[:, present.astype(np.int64)] = outputs
    return spread
