"""Learns what any model must beat, from rows of numbers: the majority, and a linear model."""

import warnings
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from burnish.metrics.sums import Array
from burnish.spec.values import Outcome


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

    def _decide(self, outputs: Array) -> Array:
        if self.kind == "regression":
            return outputs
        return (outputs >= 0.5).astype(np.int64) if self.kind == "multilabel" else outputs.argmax(axis=1)


@dataclass(frozen=True)
class Matrices:
    """Training and evaluation examples as rows of numbers, sparse or not."""

    train: Any
    evaluation: Any


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


def linear(matrices: Matrices, targets: Array, *, frame: Standing, seed: int, weights: Array | None = None) -> Array:
    """Learn a linear model and give its outputs on the evaluation examples."""
    if weights is not None and not weights.all():
        kept = np.flatnonzero(weights)
        matrices = Matrices(matrices.train[kept], matrices.evaluation)
        targets, weights = targets[kept], weights[kept]
    if frame.kind == "regression":
        return _ridge(matrices, targets, weights)
    if frame.kind == "multilabel":
        return np.stack([_probability(matrices, column, weights, seed=seed) for column in targets.T], axis=1)
    if len(np.unique(targets)) == 2:
        present = np.unique(targets)
        second = _probability(matrices, targets == present[1], weights, seed=seed)
        return _spread(np.stack([1 - second, second], axis=1), present, size=frame.num_labels)
    return _several(matrices, targets, weights, size=frame.num_labels)


def log_linear(matrices: Matrices, targets: Array, *, weights: Array | None = None) -> Array:
    """Learn the logarithm of the mean, where a loss is not defined for a prediction below 0."""
    model = import_module("sklearn.linear_model").PoissonRegressor(alpha=1e-3, max_iter=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as above: a baseline need not have converged
        model.fit(matrices.train, targets, weights)
    return np.asarray(model.predict(matrices.evaluation), dtype=np.float64)


def _ridge(matrices: Matrices, targets: Array, weights: Array | None) -> Array:
    model = import_module("sklearn.linear_model").Ridge(solver="lsqr").fit(matrices.train, targets, weights)
    return np.asarray(model.predict(matrices.evaluation), dtype=np.float64)


def _probability(matrices: Matrices, targets: Array, weights: Array | None, *, seed: int) -> Array:
    is_true = targets.astype(np.int64)
    if len(np.unique(is_true)) < 2:
        return np.full(matrices.evaluation.shape[0], float(is_true[0]))
    model = import_module("sklearn.linear_model").LogisticRegression(C=10, solver="liblinear", random_state=seed)
    model.fit(matrices.train, is_true, weights)
    return np.asarray(model.predict_proba(matrices.evaluation)[:, 1], dtype=np.float64)


def _several(matrices: Matrices, targets: Array, weights: Array | None, *, size: int) -> Array:
    if len(np.unique(targets)) < 2:
        return _spread(np.ones((matrices.evaluation.shape[0], 1)), np.unique(targets), size=size)
    # A loose tolerance: the last digits of a baseline are not worth a minute.
    model = import_module("sklearn.linear_model").LogisticRegression(C=10, solver="lbfgs", tol=1e-3, max_iter=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(matrices.train, targets, weights)
    return _spread(model.predict_proba(matrices.evaluation), model.classes_, size=size)


def _spread(outputs: Array, present: Array, *, size: int) -> Array:
    """Put the columns of the classes that were seen where they belong among all."""
    spread = np.zeros((len(outputs), size))
    spread[:, present.astype(np.int64)] = outputs
    return spread
