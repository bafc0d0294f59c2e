"""Metrics of classes and label sets: decisions, their counts, the order of probabilities and the probabilities."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pydantic import Field, PositiveInt, model_validator

from burnish.metrics.metric import CLASSES, DECISIONS, TOLD_BY_ROW, Better, FunctionMetric, Scale
from burnish.spec.component import Component
from burnish.spec.values import CELLS, Array, Outcome

Average = Literal["auto", "binary", "macro", "micro", "weighted"]


class Averaged(FunctionMetric):
    """A ratio of counts, averaged over classes."""

    stem: ClassVar[str]
    """The name of the score, and of the ratio among `decisions.Counts`."""
    kinds = DECISIONS
    shorthand = "average"

    average: Average = "auto"
    """`auto` is `binary` for two classes and `macro` otherwise."""
    positive: str | None = None
    """Score this label alone; by default the second of two."""

    @model_validator(mode="after")
    def _positive_means_one_label(self) -> Averaged:
        if self.positive is not None and self.average not in ("auto", "binary"):
            raise ValueError(f"takes `positive` or `average: {self.average}`, not both: `positive` scores one label")
        return self

    def names(self) -> tuple[str, ...]:
        """Name the score: the stem, then the label or the average if one was written."""
        if self.positive is not None:
            return (suffix(self.stem, self.positive),)
        return (self.stem if self.average == "auto" else f"{self.stem}_{self.average}",)

    def applies(self, kind: str) -> bool:
        """Score classes and label sets; one label of several only if it is named."""
        if self.average == "binary" and self.positive is None:
            return kind == "binary"
        return kind in self.kinds

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        from burnish.metrics.decisions import (  # numpy, which checking a config must not load
            Counts,
            average_counts,
            position,
        )

        label = 1 if outcome.kind == "binary" and self.average in ("auto", "binary") else None
        if self.positive is not None:
            label = position(self.positive, outcome.labels, where=f"metrics.{self.stem}.positive")
        ratio = getattr(Counts, self.stem)
        return {self.names()[0]: average_counts(outcome, weights, ratio, average=self.average, label=label)}


def suffix(stem: str, label: str) -> str:
    """Name the score of one label; a label without a letter or digit stands as it is."""
    plain = re.sub(r"\W+", "_", label.lower()).strip("_")
    return f"{stem}_{plain or label}"


class Accuracy(FunctionMetric):
    """Share of correct predictions; in multi-label tasks, of rows with every label right."""

    gives = ("accuracy",)
    kinds = (*DECISIONS, "choice")
    compute = "decisions:accuracy"


class AccAndF1(FunctionMetric):
    """Mean of accuracy and F1, as MRPC and QQP are often scored."""

    gives = ("acc_and_f1",)
    kinds = CLASSES
    compute = "decisions:accuracy_and_f1"


class Sklearn(Component):
    """Any score of `sklearn.metrics` that takes true and predicted classes or values, by its name."""

    extras: ClassVar[tuple[str, ...]] = ("baselines",)
    shorthand = "name"
    scale: ClassVar[Scale] = "value"

    name: Annotated[str, Field(pattern=r"^[a-z]\w*$")]
    """A function like balanced_accuracy_score, cohen_kappa_score or median_absolute_error."""
    better: Better = "higher"
    """Which way is up; an error or a loss is better lower."""

    def names(self) -> tuple[str, ...]:
        """Name the score as scikit-learn does."""
        return (self.name.removesuffix("_score"),)

    def applies(self, kind: str) -> bool:
        """Score classes, label sets and numbers."""
        return kind in (*DECISIONS, "regression")

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.decisions import score_by_sklearn

        return {self.names()[0]: score_by_sklearn(outcome, weights, name=self.name)}


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
    kinds = (*DECISIONS, *TOLD_BY_ROW)
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
        return CELLS if self.positive is None else tuple(suffix(cell, self.positive) for cell in CELLS)

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        from burnish.metrics.decisions import cells, position  # numpy, which checking a config must not load

        if self.positive is not None or outcome.kind == "binary":
            where = "metrics.confusion.positive"
            one = 1 if self.positive is None else position(self.positive, outcome.labels, where=where)
            return dict(zip(self.names(), cells(outcome, weights, label=one), strict=True))
        found: dict[str, Array] = {}
        for at, label in enumerate(outcome.labels):
            names = [suffix(cell, label) for cell in CELLS]
            if names[0] in found:  # `A b` and `a-b` are two labels
                names = [f"{cell}_{label}" for cell in CELLS]
            found |= zip(names, cells(outcome, weights, label=at), strict=True)
        return found
