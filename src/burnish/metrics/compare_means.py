"""Tells whether one recipe is better than another, each tried with several seeds, on the same rows of several tasks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from burnish.metrics.compare import Comparison, refuse_other_rows, resampled
from burnish.metrics.sums import Array
from burnish.metrics.tally import draws, joined, with_weight
from burnish.spec.protocols import Metric
from burnish.spec.values import Outcome


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
    first, second = np.mean([_values(part, pair) for part, pair in zip(parts, sides, strict=True)], axis=0)
    spreads = [
        _spread(part, pair, chosen=chosen, seed=seed + number)
        for number, (part, pair) in enumerate(zip(parts, sides, strict=True))
    ]
    return resampled(
        np.mean(spreads, axis=0),
        metrics=[part.metric for part in parts],
        score=score,
        names=names,
        values=(float(first), float(second)),
        num_rows=sum(len(pair[0][0].rows) for pair in sides),
        test="bootstrap of rows and seeds" if max(sizes) > 1 else "paired bootstrap",
    )


def _sides(part: Told, names: tuple[str, str]) -> list[list[Outcome]]:
    sides = [[joined([outcome]) for outcome in side] for side in (part.first, part.second)]
    whole = [outcome for side in sides for outcome in side]
    for other in whole[1:]:
        refuse_other_rows(whole[0], other, names=names)
    return [[with_weight(outcome) for outcome in side] for side in sides]


def _values(part: Told, sides: Sequence[Sequence[Outcome]]) -> list[float]:
    return [float(np.mean([part.metric.scores(outcome)[part.score][0] for outcome in side])) for side in sides]


def _spread(part: Told, sides: Sequence[Sequence[Outcome]], *, chosen: Sequence[Array], seed: int) -> Array:
    """Give the difference of the means on each set of rows and runs."""
    differences: list[Array] = []
    start = 0
    for weights in draws(len(sides[0][0].rows), seed=seed, sets=chosen[0].shape[1]):
        these = [each[:, start : start + len(weights)] for each in chosen]
        first, second = (_means(part, side, weights, chosen=own) for side, own in zip(sides, these, strict=True))
        differences.append(second - first)
        start += len(weights)
    return np.concatenate(differences)


def _means(part: Told, side: Sequence[Outcome], weights: Array, *, chosen: Array) -> Array:
    """Give the mean score of as many runs, drawn with repetition, on each set of rows."""
    scores = np.stack([part.metric.scores(outcome, weights)[part.score] for outcome in side])
    if len(side) == 1:
        return scores[0]  # type: ignore[no-any-return]  # numpy loses it
    mean, drawn = scores.mean(axis=0), np.take_along_axis(scores, chosen, axis=0).mean(axis=0)
    # The spread of n runs around their own mean is that of runs times (n - 1) / n, which counts where n is small.
    return mean + (drawn - mean) * np.sqrt(len(side) / (len(side) - 1))  # type: ignore[no-any-return]  # as above
