"""Turns logits of texts, or of windows and views of texts, into decisions."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from burnish.spec.values import Outcome, Profile
from burnish.tasks.probabilities import softmax

if TYPE_CHECKING:
    from burnish.spec.values import Array


def decode(outputs: "Mapping[str, Array]", profile: Profile, *, pool: str, threshold: float) -> Outcome:
    """Give one decision a row, whatever the order and the number of parts it came in."""
    order = np.lexsort((outputs["part"], outputs["row"]))
    rows, starts = np.unique(outputs["row"][order], return_index=True)
    raw = _activate(outputs["logits"][order].astype(np.float64), profile.kind)
    pooled = _pool(raw, starts, pool)
    truth = outputs["label"][order][starts] if "label" in outputs else None
    return Outcome(
        kind=profile.kind,
        rows=rows,
        outputs=pooled,
        decisions=_decide(pooled, profile.kind, threshold),
        truth=truth,
        labels=profile.labels,
    )


def _activate(logits: "Array", kind: str) -> "Array":
    if kind == "regression":
        return np.asarray(logits[:, 0])
    if kind == "multilabel":
        return np.asarray(np.exp(-np.logaddexp(0, -logits)))
    return softmax(logits)


def _pool(values: "Array", starts: "Array", how: str) -> "Array":
    if len(starts) == len(values):
        return values
    sizes = np.diff(np.append(starts, len(values)))
    if how == "first":
        return values[starts]
    if how == "max":
        return _renormalised(np.maximum.reduceat(values, starts), values)
    if how == "vote" and values.ndim == 2:
        votes = (values == values.max(axis=1, keepdims=True)).astype(np.float64)
        # The mean breaks ties between equal votes, and is too small to overrule a vote.
        return _renormalised(np.add.reduceat(votes + values / (2 * sizes.max()), starts), values)
    return np.add.reduceat(values, starts) / (sizes[:, None] if values.ndim == 2 else sizes)


def _renormalised(pooled: "Array", values: "Array") -> "Array":
    is_distribution = values.ndim == 2 and bool(np.allclose(values.sum(axis=1), 1))
    return pooled / pooled.sum(axis=1, keepdims=True) if is_distribution else pooled


def _decide(values: "Array", kind: str, threshold: float) -> "Array":
    if kind == "regression":
        return values
    if kind == "multilabel":
        return (values > threshold).astype(np.int64)
    return np.asarray(values.argmax(axis=1))
