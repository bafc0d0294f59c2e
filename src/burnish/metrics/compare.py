"""Tells whether one run, or recipe tried with several seeds, is better than another on the same rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from burnish.errors import DataError
from burnish.metrics.classification import Accuracy
from burnish.metrics.decisions import correct
from burnish.metrics.sums import Array
from burnish.metrics.tally import draws, interval, join_outcomes, with_weight
from burnish.spec.protocols import Metric
from burnish.spec.values import Outcome

SIGNIFICANT = 0.05
_FEWEST_SETS = 39
"""With fewer resampled sets that have a score, the smallest possible p is not below SIGNIFICANT."""


@dataclass(frozen=True)
class Comparison:
    """Two runs on the same rows, by one score."""

    score: str
    names: tuple[str, str]
    values: tuple[float, float]
    difference: float
    """The second minus the first."""
    low: float | None
    high: float | None
    p_value: float
    """How likely a difference this large would be if there were none; two-sided. NaN where nothing could be tested."""
    test: str
    """`paired bootstrap`, `McNemar, exact` for accuracy, or `bootstrap of rows and seeds`."""
    num_rows: int
    is_higher_better: bool = True
    is_share: bool = True

    @property
    def is_tested(self) -> bool:
        """Tell whether there was something to test: two finite scores, on enough of the resampled sets."""
        return math.isfinite(self.p_value)

    @property
    def is_shown(self) -> bool:
        """Tell whether the data show a difference at the 5% level."""
        return self.p_value < SIGNIFICANT

    @property
    def better(self) -> str | None:
        """The name of the one that the data show to be better; None where they show no difference."""
        if not self.is_shown:
            return None
        return self.names[1] if (self.difference > 0) == self.is_higher_better else self.names[0]

    def sentence(self) -> str:
        """Say what the comparison shows."""
        if not self.is_tested:
            return f"{self.names[0]} and {self.names[1]} cannot be compared: {self.score} {self._why_untested()}"
        if not self.is_shown:
            return (
                f"no significant difference: {self.names[1]} minus {self.names[0]} is {self._amount(self.difference)} "
                f"({self._evidence(1)})"
            )
        sign = 1 if self.difference > 0 else -1
        return f"{self.better} is better by {self._amount(abs(self.difference))} ({self._evidence(sign)})"

    def _why_untested(self) -> str:
        undefined = [name for name, value in zip(self.names, self.values, strict=True) if not math.isfinite(value)]
        if not undefined:
            return "is defined on too few of the resampled sets of rows"
        return f"has no finite value for {'both' if len(undefined) == 2 else undefined[0]}"

    def _amount(self, value: float) -> str:
        return f"{_number(value, is_share=self.is_share)}{' points' if self.is_share else ''}"

    def _evidence(self, sign: int) -> str:
        p_value = "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.{3 if self.p_value < 0.01 else 2}f}"
        if self.low is None or self.high is None:
            return p_value
        low, high = sorted((sign * self.low, sign * self.high))
        ends = [_number(end, is_share=self.is_share) for end in (low, high)]
        return f"95% interval {ends[0]} to {ends[1]}, {p_value}"


def compare(
    first: Outcome,
    second: Outcome,
    *,
    metric: Metric,
    score: str | None = None,
    names: tuple[str, str] = ("A", "B"),
    seed: int = 0,
    resamples: int = 2000,
) -> Comparison:
    """Compare two runs' outcomes on the same rows, resampling rows in pairs."""
    pair = join_outcomes([first]), join_outcomes([second])
    refuse_other_rows(*pair, names=names)
    pair = with_weight(pair[0]), with_weight(pair[1])
    name = score or metric.names()[0]
    values = tuple(float(metric.scores(outcome)[name][0]) for outcome in pair)
    parts = [
        metric.scores(pair[1], weights)[name] - metric.scores(pair[0], weights)[name]
        for weights in draws(len(pair[0].rows), seed=seed, sets=resamples)
    ]
    spread = np.concatenate(parts)
    found = compare_resampled(
        spread, metrics=[metric], score=name, names=names, values=(values[0], values[1]), num_rows=len(pair[0].rows)
    )
    weights = pair[0].weights
    # McNemar counts rows, so it holds only where all of them weigh the same.
    is_weighted = weights is not None and np.ptp(weights) > 0
    if not isinstance(metric, Accuracy) or is_weighted or not found.is_tested:
        return found
    return replace(found, p_value=mcnemar(correct(pair[0]), correct(pair[1])), test="McNemar, exact")


def compare_resampled(
    spread: Array,
    *,
    metrics: Sequence[Metric],
    score: str,
    names: tuple[str, str],
    values: tuple[float, float],
    num_rows: int,
    test: str = "paired bootstrap",
) -> Comparison:
    """Compare two values of a score by how their difference spreads over resampled sets."""
    difference = values[1] - values[0]
    low, high = interval(spread, value=difference)
    return Comparison(
        score=score,
        names=names,
        values=values,
        difference=difference,
        low=low,
        high=high,
        p_value=_bootstrap_p(spread, difference),
        test=test,
        num_rows=num_rows,
        is_higher_better=all(metric.better == "higher" for metric in metrics),
        is_share=all(getattr(metric, "scale", "value") == "share" for metric in metrics),
    )


def mcnemar(first: Array, second: Array) -> float:
    """Compute the exact two-sided p of as unequal a split of the rows that only one of the two got right."""
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    num, fewer = only_first + only_second, min(only_first, only_second)
    logs = [math.lgamma(num + 1) - math.lgamma(k + 1) - math.lgamma(num - k + 1) for k in range(fewer + 1)]
    return min(1.0, 2 * math.fsum(math.exp(log - num * math.log(2)) for log in logs))


def _bootstrap_p(spread: Array, difference: float) -> float:
    defined = spread[np.isfinite(spread)]
    if len(defined) < _FEWEST_SETS or not math.isfinite(difference):
        return math.nan
    against = min(int((defined <= 0).sum()), int((defined >= 0).sum()))
    return min(1.0, 2 * (against + 1) / (len(defined) + 1))


def refuse_other_rows(first: Outcome, second: Outcome, *, names: tuple[str, str]) -> None:
    """Refuse to compare what was not said of the same rows."""
    if first.kind != second.kind or first.labels != second.labels:
        raise DataError(f"{names[0]} and {names[1]} do not predict the same labels; compare runs of one task")
    if first.truth is None or second.truth is None:
        raise DataError(f"{names[0]} and {names[1]} can be compared only on rows whose truth is known")
    if not np.array_equal(first.rows, second.rows) or not np.array_equal(first.truth, second.truth):
        raise DataError(
            f"{names[0]} ({len(first.rows)} rows) and {names[1]} ({len(second.rows)} rows) were not scored on the same "
            "rows; evaluate both on the same split of the same data"
        )
    plain = np.ones(len(first.rows))
    own, other = (plain if each.weights is None else each.weights for each in (first, second))
    if not np.array_equal(own, other):
        raise DataError(
            f"{names[0]} and {names[1]} were scored with different row weights; compare runs of one task.weight"
        )
    if not len(with_weight(first).rows):
        raise DataError(f"{names[0]} and {names[1]} have no rows to compare")


def _number(value: float, *, is_share: bool) -> str:
    text = f"{value * 100:.1f}" if is_share else f"{value:.4g}"
    return "0.0" if text == "-0.0" else text


@dataclass(frozen=True)
class Told:
    """What the runs of two recipes said of the rows of one task, and the score by which that is judged."""

    first: Sequence[Outcome]
    second: Sequence[Outcome]
    metric: Metric
    score: str


def compare_means(
    parts: Sequence[Told],
    *,
    score: str,
    names: tuple[str, str] = ("A", "B"),
    seed: int = 0,
    resamples: int = 2000,
) -> Comparison:
    """Compare the mean over the runs of each recipe, and over tasks, of their scores.

    Rows are resampled for all runs together, those of each task by draws of their own; runs within their recipe, for
    all tasks together, as luck in one may be luck in another.
    """
    random = np.random.Generator(np.random.Philox([seed, 1]))  # not the numbers that draw the rows
    sizes = [len(side) for side in (parts[0].first, parts[0].second)]
    chosen = [random.integers(0, size, size=(size, resamples)) for size in sizes]
    sides = [_sides(part, names) for part in parts]
    values = [
        [np.mean([part.metric.scores(outcome)[part.score][0] for outcome in side]) for side in pair]
        for part, pair in zip(parts, sides, strict=True)
    ]
    first, second = np.mean(values, axis=0)
    spreads = [
        _spread(part, pair, chosen=chosen, seed=seed + number)
        for number, (part, pair) in enumerate(zip(parts, sides, strict=True))
    ]
    return compare_resampled(
        np.mean(spreads, axis=0),
        metrics=[part.metric for part in parts],
        score=score,
        names=names,
        values=(float(first), float(second)),
        num_rows=sum(len(pair[0][0].rows) for pair in sides),
        test="bootstrap of rows and seeds" if max(sizes) > 1 else "paired bootstrap",
    )


def _sides(part: Told, names: tuple[str, str]) -> list[list[Outcome]]:
    sides = [[join_outcomes([outcome]) for outcome in side] for side in (part.first, part.second)]
    whole = [outcome for side in sides for outcome in side]
    for other in whole[1:]:
        refuse_other_rows(whole[0], other, names=names)
    return [[with_weight(outcome) for outcome in side] for side in sides]


def _spread(part: Told, sides: Sequence[Sequence[Outcome]], *, chosen: Sequence[Array], seed: int) -> Array:
    """Compute the difference of the means on each set of rows and runs."""
    differences: list[Array] = []
    start = 0
    for weights in draws(len(sides[0][0].rows), seed=seed, sets=chosen[0].shape[1]):
        these = [each[:, start : start + len(weights)] for each in chosen]
        first, second = (_means(part, side, weights, chosen=own) for side, own in zip(sides, these, strict=True))
        differences.append(second - first)
        start += len(weights)
    return np.concatenate(differences)


def _means(part: Told, side: Sequence[Outcome], weights: Array, *, chosen: Array) -> Array:
    """Compute the mean score of as many runs, drawn with repetition, on each set of rows."""
    scores = np.stack([part.metric.scores(outcome, weights)[part.score] for outcome in side])
    if len(side) == 1:
        return scores[0]  # type: ignore[no-any-return]  # numpy loses it
    mean, drawn = scores.mean(axis=0), np.take_along_axis(scores, chosen, axis=0).mean(axis=0)
    # The spread of n runs around their own mean is that of runs times (n - 1) / n, which counts where n is small.
    return mean + (drawn - mean) * np.sqrt(len(side) / (len(side) - 1))  # type: ignore[no-any-return]  # as above
