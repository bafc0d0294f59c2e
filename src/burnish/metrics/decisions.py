"""Hits, predictions and truths by class, and the ways to make one figure of them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from burnish.errors import ConfigError, Problem
from burnish.extras import require
from burnish.metrics.sums import Array, count, dot, known_truth, mean, num_classes, over_set, ratio
from burnish.spec.values import Outcome


def accuracy(outcome: Outcome, weights: Array | None) -> Array:
    """Average what is right."""
    hits = correct(outcome).astype(np.float64)
    return over_set(outcome, weights, lambda part: mean(part, hits))


def correct(outcome: Outcome) -> Array:
    """Tell for each row whether it was decided rightly."""
    same = np.asarray(outcome.decisions) == known_truth(outcome)
    return np.asarray(same.all(axis=1) if same.ndim == 2 else same)


def average_counts(
    outcome: Outcome, weights: Array | None, value: "Callable[[Counts], Array]", *, average: str, label: int | None
) -> Array:
    """Make one figure a set of a ratio of counts: of one label, or of all by `average`."""

    def score(part: Array) -> Array:
        counts = count_classes(outcome, part)
        if label is not None:
            return value(counts.only(label))
        if average == "micro":
            return value(counts.summed())
        values = value(counts)
        if average == "weighted":
            return ratio((values * counts.actual).sum(axis=1), counts.actual.sum(axis=1))
        if outcome.kind == "multilabel":
            return np.asarray(values.mean(axis=1))
        # A class that is neither true nor predicted in this set says nothing about the model.
        present = (counts.predicted + counts.actual) > 0
        return np.asarray((values * present).sum(axis=1) / present.sum(axis=1))

    return over_set(outcome, weights, score)


def accuracy_and_f1(outcome: Outcome, weights: Array | None) -> Array:
    """Average accuracy and F1: of the second class of two, else the mean over classes."""
    label = 1 if outcome.kind == "binary" else None
    f1 = average_counts(outcome, weights, Counts.f1, average="auto", label=label)
    return (accuracy(outcome, weights) + f1) / 2


def score_by_sklearn(outcome: Outcome, weights: Array | None, *, name: str) -> Array:
    """Ask scikit-learn for a score of decisions against the truth, with the weights of the rows."""
    function = getattr(require("sklearn.metrics", extra="baselines", why="to score as scikit-learn does"), name, None)
    if not callable(function):
        raise ConfigError([Problem(f"metrics.sklearn.name: scikit-learn has no metric {name}")])
    truth, said = known_truth(outcome), outcome.decisions

    def score(part: Array) -> Array:
        try:
            return np.array([float(function(truth, said, sample_weight=each)) for each in part])
        except (TypeError, ValueError) as error:
            raise ConfigError([Problem(f"metrics.sklearn: {name} cannot score this: {error}")]) from error

    return over_set(outcome, weights, score)


def matthews(outcome: Outcome, weights: Array | None) -> Array:
    """Correlate decision and truth."""
    return over_set(outcome, weights, lambda part: _matthews(count_classes(outcome, part)))


def cells(outcome: Outcome, weights: Array | None, *, label: int) -> tuple[Array, ...]:
    """Count one label against the rest, true and false positives, false and true negatives."""
    said, true = (_is_label(values, label, kind=outcome.kind) for values in (outcome.decisions, known_truth(outcome)))
    table = (true & said, ~true & said, true & ~said, ~true & ~said)
    return tuple(over_set(outcome, weights, _counter(cell.astype(np.float64))) for cell in table)


@dataclass(frozen=True)
class Counts:
    """Rows (by weight) where a class was right, predicted and true: [b, k], or [b] for one figure."""

    hits: Array
    predicted: Array
    actual: Array

    def only(self, label: int) -> "Counts":
        """Keep one class."""
        return Counts(self.hits[:, label], self.predicted[:, label], self.actual[:, label])

    def summed(self) -> "Counts":
        """Add the classes up."""
        return Counts(self.hits.sum(axis=1), self.predicted.sum(axis=1), self.actual.sum(axis=1))

    def f1(self) -> Array:
        """Twice the hits, of all that was predicted or true."""
        return ratio(2 * self.hits, self.predicted + self.actual)

    def precision(self) -> Array:
        """Hits, of all that was predicted."""
        return ratio(self.hits, self.predicted)

    def recall(self) -> Array:
        """Hits, of all that was true."""
        return ratio(self.hits, self.actual)


def count_classes(outcome: Outcome, weights: Array) -> Counts:
    """Count hits, predictions and truths by class, whatever the kind."""
    truth, decisions = known_truth(outcome), np.asarray(outcome.decisions)
    if outcome.kind == "multilabel":
        said, true = decisions.astype(np.float64), truth.astype(np.float64)
        return Counts(weights @ (said * true), weights @ said, weights @ true)
    size = num_classes(outcome)
    truth, decisions = truth.astype(np.int64), decisions.astype(np.int64)
    hits = np.where(truth == decisions, truth, size)
    return Counts(*(count(weights, keys, size=size) for keys in (hits, decisions, truth)))


def position(label: str, labels: tuple[str, ...], *, where: str) -> int:
    """Find a label among those of the data; refuse one that is not there."""
    if label in labels:
        return labels.index(label)
    raise ConfigError([Problem(f"{where} is {label!r}, which is not one of the labels {', '.join(labels)}")])


def _is_label(values: Array, label: int, *, kind: str) -> Array:
    return np.asarray(np.asarray(values)[:, label] == 1 if kind == "multilabel" else np.asarray(values) == label)


def _counter(cell: Array) -> Callable[[Array], Array]:
    return lambda weights: dot(weights, cell)


def _matthews(counts: Counts) -> Array:
    total = counts.actual.sum(axis=1)
    covariance = counts.hits.sum(axis=1) * total - (counts.predicted * counts.actual).sum(axis=1)
    said = total**2 - (counts.predicted**2).sum(axis=1)
    true = total**2 - (counts.actual**2).sum(axis=1)
    return np.where(total > 0, ratio(covariance, np.sqrt(np.maximum(said * true, 0.0))), np.nan)
