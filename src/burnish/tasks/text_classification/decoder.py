"""Turns logits of texts, or of windows and views of texts, into decisions."""

from collections.abc import Mapping

import numpy as np

from burnish.spec.values import Array, Outcome, Profile
from burnish.tasks.labels import Measure
from burnish.tasks.probabilities import softmax


def decode(outputs: "Mapping[str, Array]", profile: Profile, *, pool: str, threshold: float) -> Outcome:
    """Return one decision a row, whatever the order and the number of parts it came in."""
    order = np.lexsort((outputs["part"], outputs["row"]))
    rows, starts = np.unique(outputs["row"][order], return_index=True)
    raw = _activate(outputs["logits"][order].astype(np.float64), profile.kind)
    pooled = _pool(raw, starts, how=pool, kind=profile.kind)
    truth = outputs["label"][order][starts] if "label" in outputs else None
    if profile.kind == "regression":
        measure = Measure.of_profile(profile)
        pooled = measure.answers(pooled)
        truth = None if truth is None else measure.truth(truth.astype(np.float64))
    return Outcome(
        kind=profile.kind,
        rows=rows,
        outputs=pooled,
        decisions=_decide(pooled, profile.kind, threshold),
        truth=truth,
        labels=profile.labels,
        names=profile.names,
    )


def _activate(logits: "Array", kind: str) -> "Array":
    if kind == "regression":
        return np.asarray(logits[:, 0])
    if kind == "multilabel":
        return np.asarray(np.exp(-np.logaddexp(0, -logits)))
    return softmax(logits)


def _pool(values: "Array", starts: "Array", *, how: str, kind: str) -> "Array":
    if len(starts) == len(values):
        return values
    sizes = np.diff(np.append(starts, len(values)))
    sizes = sizes[:, None] if values.ndim == 2 else sizes
    if how == "first":
        return values[starts]
    if how == "max":
        most = np.maximum.reduceat(values, starts)
        return most if kind in ("regression", "multilabel") else most / most.sum(axis=1, keepdims=True)
    means = np.add.reduceat(values, starts) / sizes
    if how != "vote" or kind == "regression":
        return means
    votes = np.add.reduceat(_votes(values, kind), starts)
    # The mean breaks ties between equal votes, and counts for half of one: too little to overrule it.
    return np.where(sizes == 1, means, (votes + means / 2) / (sizes + 0.5))


def _votes(values: "Array", kind: str) -> "Array":
    """Let each window vote for every label that it finds, or for its likeliest class."""
    if kind == "multilabel":
        return (values > 0.5).astype(np.float64)
    is_best = values == values.max(axis=1, keepdims=True)
    return np.asarray(is_best / is_best.sum(axis=1, keepdims=True))


def _decide(values: "Array", kind: str, threshold: float) -> "Array":
    if kind == "regression":
        return values
    if kind == "multilabel":
        return (values > threshold).astype(np.int64)
    return np.asarray(values.argmax(axis=1))
