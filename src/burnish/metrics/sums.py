"""Weighted sums over a whole set: what every score is made of."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from burnish.errors import DataError
from burnish.spec.values import Outcome

Array = np.ndarray[Any, Any]
CHUNK = 1 << 20
"""Weights handled at once (8 MB), so that a metric's own arrays stay far below 100 MB."""


def over_set(outcome: Outcome, weights: Array | None, compute: Callable[[Array], Array]) -> Array:
    """Compute one value a row of `weights`; nan when there is nothing to score or an output is nan."""
    num_rows = len(outcome.rows)
    num_sets = 1 if weights is None else len(weights)
    if num_rows == 0 or num_sets == 0 or np.isnan(outcome.outputs).any():
        return np.full(num_sets, np.nan)
    full = np.ones((1, num_rows)) if weights is None else np.asarray(weights, dtype=np.float64)
    if outcome.weights is not None:
        full = full * outcome.weights
    with np.errstate(all="ignore"):
        return np.concatenate([compute(part) for part in chunks(full)])


def chunks(weights: Array) -> Iterator[Array]:
    """Cut sets of weights into pieces that fit in little memory."""
    size = sets_at_once(weights.shape[1])
    for start in range(0, len(weights), size):
        yield weights[start : start + size]


def sets_at_once(num_rows: int) -> int:
    """Say how many sets of weights to hold in memory together."""
    return max(1, CHUNK // max(1, num_rows))


def dot(weights: Array, values: Array) -> Array:
    """Sum `values` [n] or [b, n] under each set of weights: [b]."""
    # Not a matrix product: its digits change with the number of threads, those of einsum do not.
    return np.asarray(np.einsum("bn,n->b" if values.ndim == 1 else "bn,bn->b", weights, values))


def mean(weights: Array, values: Array) -> Array:
    """Average `values` [n] under each set of weights; nan for a set without weight."""
    return np.asarray(dot(weights, values) / weights.sum(axis=1))


def count(weights: Array, keys: Array, *, size: int) -> Array:
    """Add up weight by key: [b, size]."""
    return np.stack([np.bincount(keys, weights=row, minlength=size)[:size] for row in weights])


def ratio(numerator: Array, denominator: Array) -> Array:
    """Divide, calling nothing out of nothing 0."""
    return np.divide(numerator, denominator, out=np.zeros_like(denominator), where=denominator != 0)


def known_truth(outcome: Outcome) -> Array:
    """Take the truth; only labelled outcomes are ever scored."""
    if outcome.truth is None:
        raise DataError("these rows cannot be scored: they have no labels")
    return np.asarray(outcome.truth)


def num_classes(outcome: Outcome) -> int:
    """Count the classes that may occur."""
    width = outcome.outputs.shape[1] if outcome.outputs.ndim == 2 else 1
    return max(len(outcome.labels), width, 2)
