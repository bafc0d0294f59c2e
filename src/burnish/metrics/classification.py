"""Metrics of classes and label sets: decisions, their counts, the order of probabilities and the probabilities."""

from __future__ import annotations

from typing import ClassVar

from pydantic import PositiveInt

from burnish.metrics.averaging import Averaged, suffixed
from burnish.metrics.metric import CLASSES, DECISIONS, Better, FunctionMetric, Scale
from burnish.spec.values import CELLS, Array, Outcome


class Accuracy(FunctionMetric):
    """Share of correct predictions; in multi-label tasks, of rows with every label right."""

    gives = ("accuracy",)
    kinds = (*DECISIONS, "choice")
    compute = "decisions:accuracy"


class F1(Averaged):
    """Harmonic mean of precision and recall."""

    stem = "f1"


class Precision(Averaged):
    """Share of a class's predictions that are correct."""

    stem = "precision"


class Recall(Averaged):
    """Share of a class's rows that are found."""

    stem = "recall"


class Matthews(FunctionMetric):
    """Matthews correlation coefficient, from -1 to 1; 0 is chance."""

    gives = ("matthews",)
    kinds = CLASSES
    compute = "decisions:matthews"


class RocAuc(FunctionMetric):
    """Area under the ROC curve: how often a positive row ranks above a negative one."""

    gives = ("roc_auc",)
    kinds = DECISIONS
    compute = "ranks:roc_auc"


class PrAuc(FunctionMetric):
    """Average precision (area under the precision-recall curve)."""

    gives = ("pr_auc",)
    kinds = DECISIONS
    compute = "ranks:pr_auc"


class LogLoss(FunctionMetric):
    """Mean negative log-likelihood of the true labels (cross-entropy)."""

    better: ClassVar[Better] = "lower"
    scale: ClassVar[Scale] = "value"
    gives = ("log_loss",)
    kinds = DECISIONS
    compute = "confidence:log_loss"


class CalibrationError(FunctionMetric):
    """Expected calibration error: gap between confidence and accuracy, averaged over bins."""

    better: ClassVar[Better] = "lower"
    gives = ("calibration_error",)
    kinds = DECISIONS
    compute = "confidence:calibration_error"
    shorthand = "bins"

    bins: PositiveInt = 15


class Confusion(FunctionMetric):
    """Confusion counts: true and false positives and negatives, per label if there are more than two."""

    scale: ClassVar[Scale] = "count"
    kinds = DECISIONS
    shorthand = "positive"

    positive: str | None = None
    """Count this label alone; by default the second of two, and each of more than two."""

    def names(self) -> tuple[str, ...]:
        """Name the four counts; of more than two labels, each label's counts end in its name."""
        return CELLS if self.positive is None else tuple(suffixed(cell, self.positive) for cell in CELLS)

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
