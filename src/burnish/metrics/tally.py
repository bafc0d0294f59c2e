"""Collects outcomes from batches and processes, and scores them as one set."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from burnish.errors import ConfigError, DataError, Problem
from burnish.metrics.metric import TOLD_BY_ROW
from burnish.metrics.sums import Array, sets_at_once
from burnish.spec.protocols import Metric
from burnish.spec.values import Outcome, Score


class Tally:
    """Hold outcomes in any order and score them in row order, so that no batch size shows in any digit."""

    def __init__(self, metrics: Sequence[Metric], outcomes: Sequence[Outcome] = ()) -> None:
        self._metrics, self._outcomes = tuple(metrics), tuple(outcomes)
        counts = Counter(name for metric in metrics for name in metric.names())
        twice = [name for name, number in counts.items() if number > 1]
        if twice:
            sentence = "metrics: the score `{}` is given by more than one metric"
            raise ConfigError([Problem(sentence.format(name)) for name in twice])

    def scores(self) -> dict[str, float]:
        """Score the whole set; nothing if the truth is unknown."""
        return {name: score.value for name, score in self.scored(intervals=False).items()}

    def scored(self, *, intervals: bool = True, seed: int = 0, resamples: int = 1000) -> dict[str, Score]:
        """Score the whole set, each score with its 95% bootstrap interval."""
        whole = with_weight(join_outcomes(self._outcomes))
        if whole.truth is None:
            return {}
        values = {name: float(value[0]) for name, value in _all_scores(self._metrics, whole).items()}
        whys = {name: _why_undefined(whole) if np.isnan(value) else None for name, value in values.items()}
        if not intervals or len(whole.rows) < 2:
            return {name: Score(value, why=whys[name]) for name, value in values.items()}
        spread = resample(self._metrics, whole, seed=seed, resamples=resamples)
        return {name: Score(each, *interval(spread[name], value=each), whys[name]) for name, each in values.items()}


def mean_score(
    parts: Sequence[tuple[Metric, Outcome]], *, intervals: bool = True, seed: int = 0, resamples: int = 1000
) -> Score:
    """Average one score a set, with an interval for which the rows of every set are drawn independently."""
    parts = [(metric, with_weight(outcome)) for metric, outcome in parts]
    values = [float(metric.scores(outcome)[metric.names()[0]][0]) for metric, outcome in parts]
    mean = float(np.mean(values))
    if np.isnan(mean):
        return Score(mean, why="a score that it is the mean of is not defined")
    if not intervals or any(len(outcome.rows) < 2 for _, outcome in parts):
        return Score(mean)
    spreads = [
        resample([metric], outcome, seed=seed + number, resamples=resamples)[metric.names()[0]]
        for number, (metric, outcome) in enumerate(parts)  # each set by draws of its own: they are independent
    ]
    return Score(mean, *interval(np.mean(spreads, axis=0), value=mean))


def rehearse(metrics: Sequence[Metric], *, kind: str, labels: tuple[str, ...]) -> tuple[str, ...]:
    """Score an empty set: an option that does not fit the labels is refused; else give the names of the scores."""
    shape = () if kind == "regression" else (len(labels),)
    decisions = np.zeros((0, *shape) if kind == "multilabel" else 0, dtype=np.int64)
    empty = Outcome(kind, np.zeros(0, np.int64), np.zeros((0, *shape)), decisions, decisions, labels)
    return tuple(_all_scores(metrics, empty))


def join_outcomes(outcomes: Sequence[Outcome]) -> Outcome:
    """Put outcomes together in row order."""
    if not outcomes:
        raise DataError("there is nothing to score: no rows were evaluated")
    rows = np.concatenate([part.rows for part in outcomes])
    order = np.argsort(rows, kind="stable")
    repeated = rows[order][1:][rows[order][1:] == rows[order][:-1]]
    if len(repeated):
        raise DataError(f"row {repeated[0]} was scored more than once; each row must be evaluated by one process only")
    truths = [part.truth for part in outcomes if part.truth is not None]
    if len(truths) not in (0, len(outcomes)):
        raise DataError("these rows cannot be scored: some have labels and others have none")
    told = [part.unlikelihood for part in outcomes if part.unlikelihood is not None]
    tables = [part.answers for part in outcomes if part.answers is not None]
    return Outcome(
        kind=outcomes[0].kind,
        rows=rows[order],
        outputs=np.concatenate([part.outputs for part in outcomes])[order],
        decisions=np.concatenate([part.decisions for part in outcomes])[order],
        truth=np.concatenate(truths)[order] if truths else None,
        labels=outcomes[0].labels,
        names=outcomes[0].names,
        answers=pa.concat_tables(tables).take(pa.array(order)) if len(tables) == len(outcomes) else None,
        weights=_weights(outcomes, order),
        unlikelihood=np.concatenate(told)[order] if len(told) == len(outcomes) else None,
    )


def with_weight(outcome: Outcome) -> Outcome:
    """Leave out the rows that weigh nothing: in a bootstrap they would take the place of others."""
    if outcome.weights is None or outcome.weights.all():
        return outcome
    return outcome.part(outcome.weights != 0)


def _weights(outcomes: Sequence[Outcome], order: Array) -> Array | None:
    if all(part.weights is None for part in outcomes):
        return None
    own = [np.ones(len(part.rows)) if part.weights is None else part.weights for part in outcomes]
    return np.asarray(np.concatenate(own)[order])


def resample(metrics: Sequence[Metric], outcome: Outcome, *, seed: int, resamples: int) -> dict[str, Array]:
    """Score sets drawn from the rows with replacement: one value a set."""
    parts = [_all_scores(metrics, outcome, weights) for weights in draws(len(outcome.rows), seed=seed, sets=resamples)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} if parts else {}


def draws(num_rows: int, *, seed: int, sets: int) -> Iterator[Array]:
    """Draw how often each row is in each bootstrap set, a piece of memory at a time: [b, n]."""
    random = np.random.Generator(np.random.Philox(seed))
    most = sets_at_once(num_rows)
    for start in range(0, sets, most):
        yield np.stack([_draw(random, num_rows) for _ in range(min(most, sets - start))])


def interval(values: Array, *, value: float) -> tuple[float | None, float | None]:
    """Take the 2.5th and 97.5th percentile of the sets on which the score is defined, widened to hold the value."""
    defined = values[np.isfinite(values)]
    if not len(defined) or not np.isfinite(value):
        return None, None
    low, high = np.quantile(defined, [0.025, 0.975])
    # Resampling makes some scores (calibration error) worse on average: the value may lie outside the percentiles.
    return min(float(low), value), max(float(high), value)


def _why_undefined(outcome: Outcome) -> str:
    """Say what about the rows keeps a score from being defined: mostly that they are all alike."""
    if outcome.kind in TOLD_BY_ROW and outcome.unlikelihood is None:
        return "it is not known how likely the truth was"
    for what, values in (("truth", outcome.truth), ("prediction", outcome.decisions)):
        if values is None or values.dtype == object or values.ndim != 1 or len(np.unique(values)) != 1:
            continue
        if what == "prediction":
            return "the prediction is the same for every row"
        names = outcome.names or outcome.labels
        shown = f"`{names[int(values[0])]}`" if names else f"{values[0]:g}"
        return f"the truth is {shown} in every row"
    return "these rows do not determine it"


def _draw(random: np.random.Generator, num_rows: int) -> Array:
    return np.bincount(random.integers(0, num_rows, size=num_rows), minlength=num_rows).astype(np.float64)


def _all_scores(metrics: Sequence[Metric], outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
    applicable = [metric for metric in metrics if metric.applies(outcome.kind)]
    return {name: value for metric in applicable for name, value in metric.scores(outcome, weights).items()}
