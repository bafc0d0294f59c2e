"""Scores of decisions: accuracy, precision, recall, F1, Matthews and the confusion matrix."""

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from burnish.metrics.averaging import Averaged, Counts, count_classes
from burnish.metrics.sums import CLASSES, Array, Better, Scale, dot, known_truth, mean, num_classes, over_set, ratio
from burnish.spec.component import Component
from burnish.spec.values import Outcome


class Accuracy(Component):
    """The share of rows decided rightly; with several labels a row, all of them."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("accuracy",)

    def applies(self, kind: str) -> bool:
        """Score classes and label sets."""
        return kind in (*CLASSES, "multilabel")

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        hits = correct(outcome).astype(np.float64)
        return {"accuracy": over_set(outcome, weights, lambda part: mean(part, hits))}


class F1(Averaged):
    """The harmonic mean of precision and recall."""

    stem: ClassVar[str] = "f1"

    def value(self, counts: Counts) -> Array:
        """Twice the hits, of all that was predicted or true."""
        return ratio(2 * counts.hits, counts.predicted + counts.actual)


class Precision(Averaged):
    """The share of a class's predictions that are right."""

    stem: ClassVar[str] = "precision"

    def value(self, counts: Counts) -> Array:
        """Hits, of all that was predicted."""
        return ratio(counts.hits, counts.predicted)


class Recall(Averaged):
    """The share of a class's rows that are found."""

    stem: ClassVar[str] = "recall"

    def value(self, counts: Counts) -> Array:
        """Hits, of all that was true."""
        return ratio(counts.hits, counts.actual)


class Matthews(Component):
    """The correlation between decision and truth, from -1 to 1; 0 is chance."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("matthews",)

    def applies(self, kind: str) -> bool:
        """Score classes."""
        return kind in CLASSES

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        return {"matthews": over_set(outcome, weights, lambda part: _matthews(count_classes(outcome, part)))}


class Confusion(Component):
    """The four counts of a binary decision; the whole matrix for reports."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "value"

    def names(self) -> tuple[str, ...]:
        """Name the four counts."""
        return ("true_positives", "false_positives", "false_negatives", "true_negatives")

    def applies(self, kind: str) -> bool:
        """Score two classes; of more, only `matrix` can be told."""
        return kind == "binary"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Count the whole set once a row of `weights`."""
        truth, said = known_truth(outcome) == 1, np.asarray(outcome.decisions) == 1
        cells = (truth & said, ~truth & said, truth & ~said, ~truth & ~said)
        table = np.stack(cells, axis=1).astype(np.float64)
        return {name: over_set(outcome, weights, _counter(table[:, at])) for at, name in enumerate(self.names())}

    def matrix(self, outcome: Outcome) -> Array:
        """Count rows by truth (down) and decision (across)."""
        size = num_classes(outcome)
        keys = known_truth(outcome).astype(np.int64) * size + np.asarray(outcome.decisions).astype(np.int64)
        return np.bincount(keys, minlength=size * size).reshape(size, size)


def correct(outcome: Outcome) -> Array:
    """Tell for each row whether it was decided rightly."""
    same = np.asarray(outcome.decisions) == known_truth(outcome)
    return np.asarray(same.all(axis=1) if same.ndim == 2 else same)


def _counter(cell: Array) -> Callable[[Array], Array]:
    return lambda weights: dot(weights, cell)


def _matthews(counts: Counts) -> Array:
    total = counts.actual.sum(axis=1)
    covariance = counts.hits.sum(axis=1) * total - (counts.predicted * counts.actual).sum(axis=1)
    said = total**2 - (counts.predicted**2).sum(axis=1)
    true = total**2 - (counts.actual**2).sum(axis=1)
    return np.where(total > 0, ratio(covariance, np.sqrt(np.maximum(said * true, 0.0))), np.nan)
