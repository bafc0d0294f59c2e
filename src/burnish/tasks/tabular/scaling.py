"""Scales numbers by statistics of the training rows, and finds bin edges on the scaled axis."""

from functools import cache
from statistics import NormalDist

import numpy as np

from burnish.spec.values import Array
from burnish.tasks.tabular.plan import Scaling

_MOST_POINTS = 256
_ROWS_A_POINT = 4
_AT_ONCE = 1 << 16
_LARGEST = 1e30
"""Scaled numbers stay below this, so that float32 holds them."""


def fit_scaling(ordered: "Array", how: str) -> Scaling:
    """Learn a scaling from the known values, in rising order: sums over them do not depend on the order of rows."""
    if not len(ordered) or how == "none":
        return Scaling()
    if how == "quantile":
        return Scaling("quantile", points=tuple(np.quantile(ordered, _shares(len(ordered))).tolist()))
    if how == "robust":
        low, middle, high = np.quantile(ordered, [0.25, 0.5, 0.75])
        return Scaling("zscore", float(middle), _spread(float(high - low) / 1.349, ordered))
    values = _log(ordered) if how == "log" else ordered
    return Scaling(how, float(values.mean()), _spread(float(values.std()), values))


def scaled(values: "Array", scaling: Scaling) -> "Array":
    """Scale float64 values; the order of values never changes."""
    if len(values) <= _AT_ONCE:
        return _scaled(values, scaling)
    result = np.empty(len(values))
    for start in range(0, len(values), _AT_ONCE):  # or what is reckoned on the way takes several times the memory
        result[start : start + _AT_ONCE] = _scaled(values[start : start + _AT_ONCE], scaling)
    return result


def _scaled(values: "Array", scaling: Scaling) -> "Array":
    if scaling.how == "quantile":
        return _through_quantiles(values, np.asarray(scaling.points))
    if scaling.how == "none":
        return np.clip(values, -_LARGEST, _LARGEST)
    plain = _log(values) if scaling.how == "log" else values
    return np.asarray(np.clip((plain - scaling.centre) / scaling.spread, -_LARGEST, _LARGEST))


def edges(ordered: "Array", *, num_bins: int) -> tuple[float, ...]:
    """Give rising bin edges: quantiles of scaled values in rising order, and as many of the distinct ones.

    By rows alone, a column in which most rows share one value would have hardly any edge among all its others.
    """
    if not len(ordered):
        return (0.0, 1.0)
    shares = np.linspace(0, 1, num_bins + 1)
    found = [np.quantile(each, shares) for each in (ordered, np.unique(ordered))]
    # In float32, as the network sees the numbers: edges that fall together there would make a bin of no width.
    cuts = np.unique(np.concatenate(found).astype(np.float32))
    if len(cuts) < 2:
        return (float(cuts[0]), float(cuts[0]) + 1.0)
    return tuple(cuts.tolist())


def _spread(spread: float, values: "Array") -> float:
    """Give a usable width: a column of one value, or with half of its values equal, still has to be divided by one."""
    if spread > 0 and np.isfinite(spread):
        return spread
    wider = float(values.std())
    return wider if wider > 0 and np.isfinite(wider) else 1.0


def _log(values: "Array") -> "Array":
    return np.asarray(np.sign(values) * np.log1p(np.abs(values)))


def _shares(num_values: int) -> "Array":
    return np.linspace(0, 1, max(2, min(_MOST_POINTS, num_values // _ROWS_A_POINT)))


def _through_quantiles(values: "Array", points: "Array") -> "Array":
    """Map quantiles to those of a normal distribution; a value that many rows share goes to the middle of its range."""
    normal = np.array(_normal(len(points)))
    upper = np.interp(values, points, normal)
    lower = -np.interp(-values, -points[::-1], -normal[::-1])
    return np.asarray((upper + lower) / 2)


@cache
def _normal(num_points: int) -> tuple[float, ...]:
    """Give the quantiles of a normal distribution, once for each number: they are asked for with every few rows."""
    edge = 0.5 / num_points
    shares = np.linspace(0, 1, num_points).tolist()
    return tuple(NormalDist().inv_cdf(min(max(share, edge), 1 - edge)) for share in shares)
