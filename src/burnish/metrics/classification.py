"""Scores of decisions: accuracy, precision, recall, F1, Matthews and the confusion matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from burnish.metrics.averaging import Averaged, suffixed
from burnish.metrics.vocabulary import CELLS, CLASSES, Better, Scale
from burnish.spec.component import Component
from burnish.spec.values import Array, Outcome

if TYPE_CHECKING:
    from burnish.metrics.decisions import Counts


class Accuracy(Component):
    """Share of correct predictions; in multi-label tasks, of rows with every label right."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("accuracy",)

    def applies(self, kind: str) -> bool:
        """Score classes, label sets and choices."""
        return kind in (*CLASSES, "multilabel", "choice")

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.decisions import accuracy  # numpy, which checking a config must not load

        return {"accuracy": accuracy(outcome, weights)}


class F1(Averaged):
    """Harmonic mean of precision and recall."""

    stem: ClassVar[str] = "f1"

    def value(self, counts: Counts) -> Array:
        """Twice the hits, of all that was predicted or true."""
        return counts.f1()


class Precision(Averaged):
    """Share of a class's predictions that are correct."""

    stem: ClassVar[str] = "precision"

    def value(self, counts: Counts) -> Array:
        """Hits, of all that was predicted."""
        return counts.precision()


class Recall(Averaged):
    """Share of a class's rows that are found."""

    stem: ClassVar[str] = "recall"

    def value(self, counts: Counts) -> Array:
        """Hits, of all that was true."""
        return counts.recall()


class Matthews(Component):
    """Matthews correlation coefficient, from -1 to 1; 0 is chance."""

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
        from burnish.metrics.decisions import matthews  # numpy, which checking a config must not load

        return {"matthews": matthews(outcome, weights)}


class Confusion(Component):
    """Confusion counts: true and false positives and negatives, per label if there are more than two."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "count"
    shorthand = "positive"

    positive: str | None = None
    """Count this label alone; by default the second of two, and each of more than two."""

    def names(self) -> tuple[str, ...]:
        """Name the four counts; of more than two labels, each label's counts end in its name."""
        return CELLS if self.positive is None else tuple(suffixed(cell, self.positive) for cell in CELLS)

    def applies(self, kind: str) -> bool:
        """Score classes and label sets."""
        return kind in (*CLASSES, "multilabel")

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Count the whole set once a row of `weights`."""
        from burnish.metrics.decisions import cells, position  # numpy, which checking a config must not load

        if self.positive is not None or outcome.kind == "binary":
            where = "metrics.confusion.positive"
            one = 1 if self.positive is None else position(self.positive, outcome.labels, where=where)
            return dict(zip(self.names(), cells(outcome, weights, label=one), strict=True))
        found: dict[str, Array] = {}
        for at, label in enumerate(outcome.labels):
            names = [suffixed(cell, label) for cell in CELLS]
            if names[0] in found:  # `A b` and `a-b` are two labels
                names = [f"{cell}_{label}" for cell in CELLS]
            found |= zip(names, cells(outcome, weights, label=at), strict=True)
        return found
