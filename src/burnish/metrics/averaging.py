"""Hits, predictions and truths by class, and the ways to make one figure of them."""

import re
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from pydantic import model_validator

from burnish.errors import ConfigError, Problem
from burnish.metrics.sums import Array, Better, Scale, count, known_truth, num_classes, over_set, ratio
from burnish.spec.component import Component
from burnish.spec.values import Outcome

Average = Literal["auto", "binary", "macro", "micro", "weighted"]


class Averaged(Component):
    """What precision, recall and F1 share: a ratio of counts, averaged over classes."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"
    stem: ClassVar[str]
    shorthand = "average"

    average: Average = "auto"
    """`auto` is `binary` for two classes and `macro` otherwise."""
    positive: str | None = None
    """Score this label alone; by default the second of two."""

    @model_validator(mode="after")
    def _positive_means_one_label(self) -> "Averaged":
        if self.positive is not None and self.average not in ("auto", "binary"):
            raise ValueError(f"takes `positive` or `average: {self.average}`, not both: `positive` scores one label")
        return self

    def names(self) -> tuple[str, ...]:
        """Name the score: the stem, then the label or the average if one was written."""
        if self.positive is not None:
            return (f"{self.stem}_{re.sub(r'[^0-9a-z]+', '_', self.positive.lower()).strip('_')}",)
        return (self.stem if self.average == "auto" else f"{self.stem}_{self.average}",)

    def applies(self, kind: str) -> bool:
        """Score classes and label sets; one label of several only if it is named."""
        if self.average == "binary" and self.positive is None:
            return kind == "binary"
        return kind in ("binary", "multiclass", "multilabel")

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        label = self._label(outcome)
        return {self.names()[0]: over_set(outcome, weights, lambda part: self._score(outcome, part, label=label))}

    @abstractmethod
    def value(self, counts: "Counts") -> Array:
        """Make the ratio of counts that this metric is."""

    def _label(self, outcome: Outcome) -> int | None:
        if self.positive is not None:
            return _position(self.positive, outcome.labels, where=f"metrics.{self.stem}.positive")
        return 1 if outcome.kind == "binary" and self.average in ("auto", "binary") else None

    def _score(self, outcome: Outcome, weights: Array, *, label: int | None) -> Array:
        counts = count_classes(outcome, weights)
        if label is not None:
            return self.value(counts.only(label))
        if self.average == "micro":
            return self.value(counts.summed())
        values = self.value(counts)
        return _mean_over_classes(values, counts, kind=outcome.kind, by_size=self.average == "weighted")


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


def _mean_over_classes(values: Array, counts: Counts, *, kind: str, by_size: bool) -> Array:
    if by_size:
        return ratio((values * counts.actual).sum(axis=1), counts.actual.sum(axis=1))
    if kind == "multilabel":
        return np.asarray(values.mean(axis=1))
    # A class that is neither true nor predicted in this set says nothing about the model.
    present = (counts.predicted + counts.actual) > 0
    return np.asarray((values * present).sum(axis=1) / present.sum(axis=1))


def _position(label: str, labels: tuple[str, ...], *, where: str) -> int:
    if label in labels:
        return labels.index(label)
    raise ConfigError([Problem(f"{where} is {label!r}, which is not one of the labels {', '.join(labels)}")])
