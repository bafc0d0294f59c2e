"""Scores of the order that probabilities put rows in: ROC-AUC and PR-AUC."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from burnish.metrics.sums import CLASSES, Array, Better, Scale, known_truth, over_set, ratio
from burnish.spec.component import Component
from burnish.spec.values import Outcome


class RocAuc(Component):
    """How often a positive row is ranked above a negative one."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("roc_auc",)

    def applies(self, kind: str) -> bool:
        """Score classes and label sets."""
        return kind in (*CLASSES, "multilabel")

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        return {"roc_auc": _over_labels(outcome, weights, area_under_roc)}


class PrAuc(Component):
    """Average precision: the precision at each rank, weighted by the recall gained there."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("pr_auc",)

    def applies(self, kind: str) -> bool:
        """Score classes and label sets."""
        return kind in (*CLASSES, "multilabel")

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        return {"pr_auc": _over_labels(outcome, weights, average_precision)}


@dataclass(frozen=True)
class Ranked:
    """Weight of positives and negatives at each distinct output, highest first: [b, groups]."""

    positive: Array
    negative: Array

    def has_both(self) -> Array:
        """Tell for each set whether it holds positives and negatives."""
        return np.asarray((self.positive.sum(axis=1) > 0) & (self.negative.sum(axis=1) > 0))


def area_under_roc(ranked: Ranked) -> Array:
    """Give the share of pairs in right order, ties counting half; nan without both classes."""
    above = np.cumsum(ranked.positive, axis=1) - ranked.positive / 2
    pairs = ranked.positive.sum(axis=1) * ranked.negative.sum(axis=1)
    return np.asarray((ranked.negative * above).sum(axis=1) / pairs)


def average_precision(ranked: Ranked) -> Array:
    """Give the mean precision over positives; 0 without any."""
    hits = np.cumsum(ranked.positive, axis=1)
    precision = ratio(hits, hits + np.cumsum(ranked.negative, axis=1))
    return ratio((ranked.positive * precision).sum(axis=1), hits[:, -1])


def _over_labels(outcome: Outcome, weights: Array | None, area: Callable[[Ranked], Array]) -> Array:
    truth, outputs = known_truth(outcome), outcome.outputs
    if outcome.kind == "binary":
        return over_set(outcome, weights, lambda part: area(_rank(outputs[:, -1], truth == 1, weights=part)))
    is_label = truth == 1 if outcome.kind == "multilabel" else truth[:, None] == np.arange(outputs.shape[1])
    return over_set(outcome, weights, lambda part: _macro(outputs, is_label, weights=part, area=area))


def _macro(outputs: Array, is_label: Array, *, weights: Array, area: Callable[[Ranked], Array]) -> Array:
    total, num_labels = np.zeros(len(weights)), np.zeros(len(weights))
    for label in range(outputs.shape[1]):
        ranked = _rank(outputs[:, label], is_label[:, label], weights=weights)
        counts = ranked.has_both()
        total += np.where(counts, area(ranked), 0.0)
        num_labels += counts
    return np.asarray(total / num_labels)


def _rank(output: Array, is_positive: Array, *, weights: Array) -> Ranked:
    order = np.argsort(-output, kind="stable")
    ranked = output[order]
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    sorted_weights = weights[:, order]
    positive = np.add.reduceat(sorted_weights * is_positive[order], starts, axis=1)
    return Ranked(positive, np.add.reduceat(sorted_weights, starts, axis=1) - positive)
