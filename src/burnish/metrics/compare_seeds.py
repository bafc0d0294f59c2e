"""Tells whether one recipe is better than another, each tried with several seeds on the same rows."""

from collections.abc import Sequence

import numpy as np

from burnish.metrics.compare import Comparison, refuse_other_rows, resampled
from burnish.metrics.sums import Array
from burnish.metrics.tally import draws, joined
from burnish.spec.protocols import Metric
from burnish.spec.values import Outcome


def compare_seeds(
    first: Sequence[Outcome],
    second: Sequence[Outcome],
    *,
    metric: Metric,
    score: str | None = None,
    names: tuple[str, str] = ("A", "B"),
    seed: int = 0,
    resamples: int = 2000,
) -> Comparison:
    """Compare the mean scores of two recipes, resampling rows for all runs together and the runs of each recipe."""
    sides = [[joined([outcome]) for outcome in side] for side in (first, second)]
    whole = [outcome for side in sides for outcome in side]
    for other in whole[1:]:
        refuse_other_rows(whole[0], other, names=names)
    name = score or metric.names()[0]
    values = [float(np.mean([metric.scores(outcome)[name][0] for outcome in side])) for side in sides]
    random = np.random.Generator(np.random.Philox([seed, 1]))  # not the numbers that draw the rows
    parts = [
        np.subtract(*(_means(side, weights, metric=metric, name=name, random=random) for side in reversed(sides)))
        for weights in draws(len(whole[0].rows), seed=seed, sets=resamples)
    ]
    return resampled(
        np.concatenate(parts),
        metric=metric,
        score=name,
        names=names,
        values=(values[0], values[1]),
        num_rows=len(whole[0].rows),
        test="bootstrap of rows and seeds",
    )


def _means(side: Sequence[Outcome], weights: Array, *, metric: Metric, name: str, random: np.random.Generator) -> Array:
    """Give the mean score of as many runs, drawn with repetition, on each set of rows."""
    scores = np.stack([metric.scores(outcome, weights)[name] for outcome in side])
    if len(side) == 1:
        return scores[0]  # type: ignore[no-any-return]  # numpy loses it
    chosen = random.integers(0, len(side), size=scores.shape)
    mean, drawn = scores.mean(axis=0), np.take_along_axis(scores, chosen, axis=0).mean(axis=0)
    # The spread of n runs around their own mean is that of runs times (n - 1) / n, which counts where n is small.
    return mean + (drawn - mean) * np.sqrt(len(side) / (len(side) - 1))  # type: ignore[no-any-return]  # as above
