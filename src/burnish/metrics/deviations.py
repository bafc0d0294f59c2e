"""How far numbers are from the truth, and how they go along with it."""

import numpy as np

from burnish.metrics.sums import Array, dot, known_truth, mean, over_set
from burnish.spec.values import Outcome

_CONSTANT = 1e-12
"""A spread below this part of the sum of squares is rounding: the values are all one."""

_SMALLEST = 1e-12
"""A mean that is not positive counts as this: its logarithm must exist."""


def pearson(outcome: Outcome, weights: Array | None) -> Array:
    """Correlate values and truth."""
    values, truth = (_centre(column) for column in _columns(outcome))
    return over_set(outcome, weights, lambda part: _correlation(part, values, truth))


def spearman(outcome: Outcome, weights: Array | None) -> Array:
    """Correlate the ranks that values and truth have within each set."""
    values, truth = _columns(outcome)
    return over_set(outcome, weights, lambda part: _correlation(part, _ranks(values, part), _ranks(truth, part)))


def pearson_and_spearman(outcome: Outcome, weights: Array | None) -> Array:
    """Average the two correlations."""
    return (pearson(outcome, weights) + spearman(outcome, weights)) / 2


def mean_squared(outcome: Outcome, weights: Array | None) -> Array:
    """Average the squares of the errors."""
    return over_set(outcome, weights, lambda part: mean(part, _errors(outcome) ** 2))


def mean_absolute(outcome: Outcome, weights: Array | None) -> Array:
    """Average the sizes of the errors."""
    return over_set(outcome, weights, lambda part: mean(part, np.abs(_errors(outcome))))


def explain_variance(outcome: Outcome, weights: Array | None) -> Array:
    """Compute the share of the truth's variance that the errors leave."""
    return over_set(outcome, weights, lambda part: _explain(outcome, part))


def root_mean_squared(outcome: Outcome, weights: Array | None) -> Array:
    """Compute the square root of the mean squared error of each set."""
    return np.sqrt(mean_squared(outcome, weights))


def poisson_deviance(outcome: Outcome, weights: Array | None) -> Array:
    """Compute the mean deviance of counts; nan where a truth is below 0."""
    values, truth = _columns(outcome)
    means = np.maximum(values, _SMALLEST)
    logs = truth * np.log(np.where(truth > 0, truth, 1.0) / means)
    losses = np.where(truth < 0, np.nan, 2 * (np.where(truth > 0, logs, 0.0) - truth + means))
    return over_set(outcome, weights, lambda part: mean(part, losses))


def gamma_deviance(outcome: Outcome, weights: Array | None) -> Array:
    """Compute the mean deviance of amounts; nan where a truth is not positive."""
    values, truth = _columns(outcome)
    ratios = np.where(truth > 0, truth, np.nan) / np.maximum(values, _SMALLEST)
    return over_set(outcome, weights, lambda part: mean(part, 2 * (ratios - 1 - np.log(ratios))))


def pinball(outcome: Outcome, weights: Array | None, *, quantile: float) -> Array:
    """Compute the mean loss of a predicted quantile."""
    values, truth = _columns(outcome)
    short = truth - values
    losses = np.maximum(quantile * short, (quantile - 1) * short)
    return over_set(outcome, weights, lambda part: mean(part, losses))


def _columns(outcome: Outcome) -> tuple[Array, Array]:
    return np.asarray(outcome.outputs, dtype=np.float64), known_truth(outcome).astype(np.float64)


def _errors(outcome: Outcome) -> Array:
    values, truth = _columns(outcome)
    return np.asarray(values - truth)


def _centre(column: Array) -> Array:
    if not len(column) or not np.isfinite(column).all():
        return column
    shifted = column - column.mean()
    largest = float(np.abs(shifted).max())
    return np.asarray(shifted / largest) if largest > 0 else np.asarray(shifted)


def _correlation(weights: Array, first: Array, second: Array) -> Array:
    total = weights.sum(axis=1)
    sums = dot(weights, first), dot(weights, second)
    squares = dot(weights, first**2), dot(weights, second**2)
    spreads = [square - plain**2 / total for plain, square in zip(sums, squares, strict=True)]
    shared = dot(weights, first * second) - sums[0] * sums[1] / total
    varies = (spreads[0] > _CONSTANT * squares[0]) & (spreads[1] > _CONSTANT * squares[1])
    value = shared / np.sqrt(np.where(varies, spreads[0] * spreads[1], np.nan))
    return np.asarray(np.clip(value, -1.0, 1.0))


def _ranks(column: Array, weights: Array) -> Array:
    """Rank within each set of weights, ties sharing their middle, counted from the middle of the set: [b, n]."""
    order = np.argsort(column, kind="stable")
    ranked = column[order]
    is_new = np.concatenate([[True], ranked[1:] != ranked[:-1]])
    group_weight = np.add.reduceat(weights[:, order], np.flatnonzero(is_new), axis=1)
    middle = np.cumsum(group_weight, axis=1) - group_weight / 2 - weights.sum(axis=1, keepdims=True) / 2
    group_of = np.empty(len(column), dtype=np.int64)
    group_of[order] = np.cumsum(is_new) - 1
    return np.asarray(middle[:, group_of])


def _explain(outcome: Outcome, weights: Array) -> Array:
    if len(outcome.rows) < 2:
        return np.full(len(weights), np.nan)
    truth = known_truth(outcome).astype(np.float64)
    truth = truth - truth.mean()
    squares = dot(weights, truth**2)
    spread = squares - dot(weights, truth) ** 2 / weights.sum(axis=1)
    missed = dot(weights, _errors(outcome) ** 2)
    constant = spread <= _CONSTANT * squares
    return np.where(constant, np.where(missed == 0, 1.0, 0.0), 1 - missed / np.where(constant, 1.0, spread))
