"""Scores class by class: precision, recall, F1 and support, and the ROC and precision-recall curves."""

import numpy as np

from burnish.metrics.ranks import Ranked, area_under_roc, average_precision, rank
from burnish.metrics.sums import Array, ratio
from burnish.report.data import ClassScores, RankingCurve
from burnish.spec.values import Outcome

_MOST_CURVES = 6
_MOST_POINTS = 200
_KINDS = ("binary", "multiclass", "multilabel")


def class_scores(outcome: Outcome) -> tuple[ClassScores, ...]:
    """Score each class against the rest, in the order of the labels; nothing of what has no classes."""
    if outcome.kind not in _KINDS or outcome.truth is None:
        return ()
    truth, said = _indicators(outcome, outcome.truth), _indicators(outcome, outcome.decisions)
    weights = _weights(outcome)
    hits = weights @ (truth & said)
    precision, recall = ratio(hits, weights @ said), ratio(hits, weights @ truth)
    f1 = ratio(2 * precision * recall, precision + recall)
    support = truth.sum(axis=0)
    return tuple(
        ClassScores(label, float(precision[at]), float(recall[at]), float(f1[at]), int(support[at]))
        for at, label in enumerate(outcome.names or outcome.labels)
    )


def ranking_curves(outcome: Outcome) -> tuple[RankingCurve, ...]:
    """Draw the positive class of two, or each of the most frequent classes against the rest."""
    if outcome.kind not in _KINDS or outcome.truth is None or outcome.outputs.ndim != 2:
        return ()
    truth = _indicators(outcome, outcome.truth)
    frequent = np.argsort(-truth.sum(axis=0), kind="stable")[:_MOST_CURVES]
    shown = [len(outcome.labels) - 1] if outcome.kind == "binary" else sorted(frequent.tolist())
    weights, names = _weights(outcome)[None], outcome.names or outcome.labels
    ranked = {at: rank(outcome.outputs[:, at], truth[:, at], weights=weights) for at in shown}
    return tuple(
        _curve(names[at], each, outcome.outputs[:, at]) for at, each in ranked.items() if each.has_both().all()
    )


def _curve(label: str, ranked: Ranked, outputs: Array) -> RankingCurve:
    hits, alarms = (np.concatenate([[0.0], np.cumsum(each[0])]) for each in (ranked.positive, ranked.negative))
    recall, fallout = hits / hits[-1], alarms / alarms[-1]
    precision = ratio(hits[1:], hits[1:] + alarms[1:])
    kept = np.unique(np.linspace(0, len(hits) - 1, min(len(hits), _MOST_POINTS)).astype(int))
    later = kept[kept > 0]
    thresholds = np.unique(outputs)[::-1][later - 1]
    return RankingCurve(
        label,
        roc=tuple(zip(fallout[kept].tolist(), recall[kept].tolist(), strict=True)),
        precision_recall=tuple(zip(recall[later].tolist(), precision[later - 1].tolist(), strict=True)),
        roc_auc=float(area_under_roc(ranked)[0]),
        average_precision=float(average_precision(ranked)[0]),
        base_rate=float(hits[-1] / (hits[-1] + alarms[-1])),
        by_threshold=tuple(
            zip(thresholds.tolist(), precision[later - 1].tolist(), recall[later].tolist(), strict=True)
        ),
    )


def _indicators(outcome: Outcome, values: Array) -> Array:
    """Say for each row and class whether it is that class."""
    is_class = values == 1 if outcome.kind == "multilabel" else values[:, None] == np.arange(len(outcome.labels))
    return np.asarray(is_class)


def _weights(outcome: Outcome) -> Array:
    return np.ones(len(outcome.rows)) if outcome.weights is None else np.asarray(outcome.weights, dtype=np.float64)
