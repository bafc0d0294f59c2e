"""Recipes tried with several seeds are compared by their means; the luck of rows and of seeds is counted."""

import numpy as np
import pytest

from burnish.errors import DataError
from burnish.metrics.classification import F1, Accuracy
from burnish.metrics.compare import Comparison, Told, compare, compare_means
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


def compare_seeds(first, second, *, metric, names=("A", "B"), resamples=2000) -> Comparison:
    score = metric.names()[0]
    return compare_means([Told(first, second, metric, score)], score=score, names=names, resamples=resamples)


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


def test_the_mean_of_tasks_is_surer_than_each_of_them() -> None:
    accuracy = Accuracy()
    tasks = [Told(tries(0.7, seed=n, num=2), tries(0.74, seed=9 + n, num=2), accuracy, "accuracy") for n in range(4)]
    alone = [compare_means([task], score="accuracy") for task in tasks]
    together = compare_means(tasks, score="mean")
    assert together.difference == pytest.approx(np.mean([each.difference for each in alone]))
    assert together.num_rows == 4 * 600
    assert together.high - together.low < 0.7 * min(each.high - each.low for each in alone)


def test_a_lucky_run_is_lucky_in_all_tasks() -> None:
    first, second = (tries(0.75, seed=seed, num=3, luck=0.08) for seed in (1, 2))
    same = Told(first, second, Accuracy(), "accuracy")
    once, twice = compare_means([same], score="mean"), compare_means([same, same], score="mean")
    # Other rows of the same runs: were the runs drawn anew for each task, their luck would seem to even out.
    assert twice.high - twice.low > 0.85 * (once.high - once.low)
