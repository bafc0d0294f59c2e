"""Splits are partitions, keep proportions and groups, and depend on nothing but seed and rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.splits.splits import carve, carve_groups, lots, sample

SEEDS = st.integers(0, 2**63)
KNOWN = [5, 9, 12, 13, 20]
KNOWN_LOTS = [6791897765849424158, 17405687883870564846]


@st.composite
def labelled(draw: st.DrawFn) -> tuple[np.ndarray, list[int], int]:
    counts = draw(st.lists(st.integers(20, 60), min_size=1, max_size=5))
    labels = np.repeat(np.arange(len(counts)), counts)
    order = np.argsort(lots(len(labels), seed=draw(SEEDS), purpose=7))
    sizes = [
        max(1, round(len(labels) * share)) for share in draw(st.lists(st.floats(0.02, 0.4), min_size=1, max_size=2))
    ]
    return labels[order], sizes, draw(SEEDS)


@given(labelled())
def test_every_row_is_in_one_part_and_parts_have_the_asked_size(case: tuple[np.ndarray, list[int], int]) -> None:
    labels, sizes, seed = case
    parts = carve(len(labels), sizes, classes=labels, seed=seed)
    assert np.bincount(parts, minlength=len(sizes) + 1).tolist() == [len(labels) - sum(sizes), *sizes]


@given(labelled())
def test_every_part_holds_each_class_within_one_row_of_its_share(case: tuple[np.ndarray, list[int], int]) -> None:
    labels, sizes, seed = case
    parts = carve(len(labels), sizes, classes=labels, seed=seed)
    for label in np.unique(labels):
        for index, size in enumerate(sizes, start=1):
            ideal = np.sum(labels == label) * size / len(labels)
            assert abs(np.sum(parts[labels == label] == index) - ideal) < 1


@given(labelled())
def test_the_same_seed_gives_the_same_split(case: tuple[np.ndarray, list[int], int]) -> None:
    labels, sizes, seed = case
    first = carve(len(labels), sizes, classes=labels, seed=seed)
    assert np.array_equal(first, carve(len(labels), sizes, classes=labels.copy(), seed=seed))


@given(st.lists(st.integers(0, 8), min_size=6, max_size=40), SEEDS)
def test_train_keeps_a_row_of_every_class(labels: list[int], seed: int) -> None:
    classes = np.unique(labels, return_inverse=True)[1]
    spare = len(labels) - len(set(labels))
    parts = carve(len(labels), [max(1, min(spare, len(labels) // 5))], classes=classes, seed=seed)
    if spare:
        assert set(classes[parts == 0]) == set(classes)


def test_the_only_row_of_a_class_stays_though_its_share_is_owed_most() -> None:
    classes = np.array([0] * 8 + [1, 2])
    assert set(classes[carve(10, [5], classes=classes, seed=0) == 0]) == {0, 1, 2}


def test_another_seed_gives_another_split() -> None:
    assert not np.array_equal(carve(100, [10], seed=0), carve(100, [10], seed=1))


def test_a_known_split_stays_as_it_is_forever() -> None:
    assert np.flatnonzero(carve(30, [5], seed=7)).tolist() == KNOWN
    assert lots(2, seed=1, purpose=0).tolist() == KNOWN_LOTS


def test_lots_are_spread_evenly() -> None:
    shares = lots(20_000, seed=3, purpose=0) / 2.0**64
    assert abs(shares.mean() - 0.5) < 0.01
    assert np.histogram(shares, bins=10)[0].min() > 1800


@given(st.integers(1, 60), st.integers(1, 60), SEEDS)
def test_a_smaller_sample_is_part_of_a_larger_one(first: int, second: int, seed: int) -> None:
    small, large = (sample(60, size, seed=seed, purpose=1) for size in sorted((first, second)))
    assert small.sum() == min(first, second)
    assert not np.any(small & ~large)


@st.composite
def grouped(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, list[int], int]:
    groups = np.unique(draw(st.lists(st.integers(0, 12), min_size=12, max_size=80)), return_inverse=True)[1]
    classes = np.array(draw(st.lists(st.integers(0, 2), min_size=len(groups), max_size=len(groups))))
    sizes = [
        max(1, round(len(groups) * share)) for share in draw(st.lists(st.floats(0.05, 0.3), min_size=1, max_size=2))
    ]
    return groups, classes, sizes, draw(SEEDS)


@given(grouped())
def test_no_group_is_in_two_parts_and_none_is_empty(case: tuple[np.ndarray, np.ndarray, list[int], int]) -> None:
    groups, classes, sizes, seed = case
    parts = carve_groups(groups, sizes, classes=classes, seed=seed)
    assert all(len(set(parts[groups == group])) == 1 for group in np.unique(groups))
    if groups.max() >= len(sizes):
        assert set(parts) == set(range(len(sizes) + 1))
    assert np.array_equal(parts, carve_groups(groups, sizes, classes=classes, seed=seed))


def test_small_groups_meet_the_asked_size_and_the_class_shares() -> None:
    groups = np.repeat(np.arange(300), 3)
    classes = np.repeat((np.arange(300) % 3 == 0).astype(np.int64), 3)
    held_out = carve_groups(groups, [90], classes=classes, seed=0) == 1
    assert held_out.sum() == 90
    assert abs(classes[held_out].mean() - 1 / 3) < 0.05


def test_a_large_group_does_not_land_in_a_small_part() -> None:
    groups = np.repeat(np.arange(4), [50, 40, 5, 5])
    assert np.sum(carve_groups(groups, [10], seed=0) == 1) == 10
