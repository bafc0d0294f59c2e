"""Scores of rankings: areas under curves of rows ranked by their output, and the ranks of right passages."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from burnish.metrics.sums import Array, known_truth, mean, over_set, ratio
from burnish.spec.values import Outcome


@dataclass(frozen=True)
class Ranked:
    """Weight of positives and negatives at each distinct output, highest first: [b, groups]."""

    positive: Array
    negative: Array

    def has_both(self) -> Array:
        """Tell for each set whether it holds positives and negatives."""
        return np.asarray((self.positive.sum(axis=1) > 0) & (self.negative.sum(axis=1) > 0))


def roc_auc(outcome: Outcome, weights: Array | None) -> Array:
    """Compute the area under the ROC curve, averaged over labels."""
    return over_labels(outcome, weights, area_under_roc)


def pr_auc(outcome: Outcome, weights: Array | None) -> Array:
    """Compute the average precision, averaged over labels."""
    return over_labels(outcome, weights, average_precision)


def mean_reciprocal_rank(outcome: Outcome, weights: Array | None) -> Array:
    """Average 1 / rank of the right passage."""
    return over_set(outcome, weights, lambda part: mean(part, 1 / outcome.decisions))


def recall_at(outcome: Outcome, weights: Array | None, *, k: tuple[int, ...]) -> tuple[Array, ...]:
    """Compute the share of rows whose right passage is among the first k, once for each k."""
    found = [(outcome.decisions <= each).astype(float) for each in k]
    return tuple(over_set(outcome, weights, partial(mean, values=hits)) for hits in found)


def area_under_roc(ranked: Ranked) -> Array:
    """Compute the share of pairs in right order, ties counting half; nan without both classes."""
    above = np.cumsum(ranked.positive, axis=1) - ranked.positive / 2
    pairs = ranked.positive.sum(axis=1) * ranked.negative.sum(axis=1)
    return np.asarray((ranked.negative * above).sum(axis=1) / pairs)


def average_precision(ranked: Ranked) -> Array:
    """Compute the mean precision over positives; 0 without any."""
    hits = np.cumsum(ranked.positive, axis=1)
    precision = ratio(hits, hits + np.cumsum(ranked.negative, axis=1))
    return ratio((ranked.positive * precision).sum(axis=1), hits[:, -1])


def over_labels(outcome: Outcome, weights: Array | None, area: Callable[[Ranked], Array]) -> Array:
    """Take the area of the positive class of two; of more labels the mean, each against the rest."""
    truth, outputs = known_truth(outcome), outcome.outputs
    if outcome.kind == "binary":
        return over_set(outcome, weights, lambda part: area(rank(outputs[:, -1], truth == 1, weights=part)))
    is_label = truth == 1 if outcome.kind == "multilabel" else truth[:, None] == np.arange(outputs.shape[1])
    return over_set(outcome, weights, lambda part: _macro(outputs, is_label, weights=part, area=area))


def _macro(outputs: Array, is_label: Array, *, weights: Array, area: Callable[[Ranked], Array]) -> Array:
    total, num_labels = np.zeros(len(weights)), np.zeros(len(weights))
    for label in range(outputs.shape[1]):
        ranked = rank(outputs[:, label], is_label[:, label], weights=weights)
        counts = ranked.has_both()
        total += np.where(counts, area(ranked), 0.0)
        num_labels += counts
    return np.asarray(total / num_labels)


def rank(output: Array, is_positive: Array, *, weights: Array) -> Ranked:
    """Sort rows by their output and add up those that tie, for each set of weights."""
    order = np.argsort(-output, kind="stable")
    ranked = output[order]
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    sorted_weights = weights[:, order]
    positive = np.add.reduceat(sorted_weights * is_positive[order], starts, axis=1)
    return Ranked(positive, np.add.reduceat(sorted_weights, starts, axis=1) - positive)
