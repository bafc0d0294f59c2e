"""Recipes tried with several seeds are compared by their means; the luck of rows and of seeds is counted."""

import numpy as np
import pytest

from burnish.errors import DataError
from burnish.metrics.classification import F1, Accuracy
from burnish.metrics.compare import compare
from burnish.metrics.compare_seeds import compare_seeds
from burnish.spec.values import Outcome


def tries(share: float, *, seed: int, num: int = 5, num_rows: int = 600, luck: float = 0.0) -> list[Outcome]:
    """Give runs that are right on a share of rows, some rows being harder than others; `luck` is what a seed adds."""
    random, truth = np.random.default_rng(seed), np.arange(num_rows) % 2
    hardness = np.random.default_rng(99).normal(size=num_rows)  # the same for all recipes
    outcomes = []
    for _ in range(num):
        noise = random.normal(size=num_rows) + hardness
        is_right = noise < np.quantile(noise, share + luck * random.normal())
        said = np.where(is_right, truth, 1 - truth)
        outcomes.append(Outcome("binary", np.arange(num_rows), np.eye(2)[said], said, truth, ("no", "yes")))
    return outcomes


@pytest.mark.parametrize("metric", [Accuracy(), F1()])
def test_the_difference_is_that_of_the_means(metric) -> None:
    weak, strong = tries(0.7, seed=1), tries(0.8, seed=2, num=3)
    found = compare_seeds(weak, strong, metric=metric, names=("weak", "strong"))
    scores = [[float(next(iter(metric.scores(each).values()))[0]) for each in side] for side in (weak, strong)]
    assert found.difference == pytest.approx(np.mean(scores[1]) - np.mean(scores[0]))
    assert found.low < found.difference < found.high
    assert found.sentence().startswith("strong is better by ")
    back = compare_seeds(strong, weak, metric=metric, names=("strong", "weak"))
    assert back.difference == -found.difference


def test_several_seeds_tell_more_than_one() -> None:
    weak, strong = tries(0.70, seed=1, num=8), tries(0.74, seed=2, num=8)
    one = compare_seeds(weak[:1], strong[:1], metric=Accuracy())
    all_of_them = compare_seeds(weak, strong, metric=Accuracy())
    assert all_of_them.high - all_of_them.low < 0.8 * (one.high - one.low)


def test_one_seed_each_is_the_paired_bootstrap() -> None:
    first, second = tries(0.7, seed=1, num=1), tries(0.75, seed=2, num=1)
    alone, grouped = compare(first[0], second[0], metric=F1()), compare_seeds(first, second, metric=F1())
    assert (alone.low, alone.high, alone.p_value) == (grouped.low, grouped.high, grouped.p_value)


def test_the_luck_of_seeds_is_not_taken_for_a_gain() -> None:
    shown = [
        compare_seeds(
            tries(0.75, seed=2 * trial, num=3, num_rows=200, luck=0.05),
            tries(0.75, seed=2 * trial + 1, num=3, num_rows=200, luck=0.05),
            metric=Accuracy(),
            resamples=200,
        ).is_shown
        for trial in range(150)
    ]
    assert np.mean(shown) < 0.15  # 5% with many seeds; a test of three pairs of rows alone says it of a third


def test_other_rows_are_refused() -> None:
    with pytest.raises(DataError, match="not scored on the same rows"):
        compare_seeds(tries(0.7, seed=1), tries(0.7, seed=1, num_rows=500), metric=Accuracy())
