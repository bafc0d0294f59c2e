"""A mixture is a pure function: shares are kept exactly, each set goes on as it would alone, from any place."""

import json
from collections import Counter
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.batching.batches import BatchStream, plan_epoch
from burnish.data.batching.mixture import Mixed
from burnish.errors import CheckpointError, DataError
from burnish.spec.experiment import Batching

sets_of_lengths = st.lists(st.lists(st.integers(1, 60), min_size=1, max_size=80).map(np.array), min_size=1, max_size=4)
batchings = st.builds(Batching, examples=st.integers(1, 12), group_by_length=st.booleans()) | st.builds(
    Batching, tokens=st.integers(30, 400), group_by_length=st.booleans()
)
by_count = st.builds(Batching, examples=st.integers(1, 12), group_by_length=st.booleans())
powers = st.lists(st.floats(0, 1), min_size=1, max_size=3).map(lambda each: lambda epoch: each[epoch % len(each)])
seeds = st.integers(0, 2**32)


def mixed(sets, batching, *, seed=0, power=lambda epoch: 1.0):
    return Mixed(sets, batching, seed=seed, power=power)


def stream_of(sets, batching, *, seed=0, power=lambda epoch: 1.0, **place):
    lengths = np.concatenate(sets)
    return BatchStream(lengths, batching, seed, mixture=mixed(sets, batching, seed=seed, power=power), **place)


def set_of(example, sets):
    return int(np.searchsorted(list(accumulate(map(len, sets))), example, side="right"))


def same(one, other):
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@given(sets_of_lengths, batchings, seeds, powers, st.integers(0, 5))
def test_an_epoch_depends_on_its_arguments_alone(sets, batching, seed, power, epoch):
    plan = mixed(sets, batching, seed=seed, power=power).plan(epoch)
    other = mixed([each.copy() for each in sets], batching, seed=seed, power=power)
    other.plan(epoch + 1)
    assert same(plan, other.plan(epoch))


@given(sets_of_lengths, batchings, seeds, powers, st.integers(0, 4))
def test_every_batch_is_of_one_set_and_shares_are_kept(sets, batching, seed, power, epoch):
    mixture = mixed(sets, batching, seed=seed, power=power)
    owners = [{set_of(example, sets) for example in batch} for batch in mixture.plan(epoch)]
    assert all(len(each) == 1 for each in owners)
    counted = Counter(next(iter(each)) for each in owners)
    assert [counted[which] for which in range(len(sets))] == mixture.shares(epoch)
    assert sum(counted.values()) == mixture.num_batches


@given(sets_of_lengths, batchings, st.floats(0, 1))
def test_shares_follow_the_power_to_within_a_batch(sets, batching, power):
    mixture = mixed(sets, batching, power=lambda epoch: power)
    sizes = np.array([len(plan_epoch(each, seed=0, epoch=0, batching=batching)) for each in sets])
    wanted = sizes**power / np.sum(sizes**power) * sizes.sum()
    assert np.all(np.abs(np.array(mixture.shares(0)) - wanted) < 1 + 1e-9)
    assert min(mixture.shares(0)) >= 1  # between proportional and uniform, no set is ever left out


@given(sets_of_lengths, by_count, seeds, st.integers(0, 4))
def test_in_proportion_every_example_comes_once_an_epoch(sets, batching, seed, epoch):
    plan = mixed(sets, batching, seed=seed).plan(epoch)
    assert sorted(np.concatenate(plan).tolist()) == list(range(sum(map(len, sets))))


@given(sets_of_lengths, batchings, seeds, powers)
def test_each_set_goes_through_the_batches_it_has_alone(sets, batching, seed, power):
    mixture = mixed(sets, batching, seed=seed, power=power)
    plans = [mixture.plan(epoch) for epoch in range(3)]
    starts = [0, *accumulate(map(len, sets))]
    for which, lengths in enumerate(sets):
        drawn = [
            (plan.epoch_of(number), (batch - starts[which]).tolist())
            for plan in plans
            for number, batch in enumerate(plan)
            if set_of(batch[0], sets) == which
        ]
        alone = [
            (number, batch.tolist())
            for number in range(1 + max((each for each, _ in drawn), default=0))
            for batch in plan_epoch(lengths, seed=seed, epoch=number, batching=batching)
        ]
        assert drawn == alone[: len(drawn)]


@given(sets_of_lengths, batchings, seeds, powers, st.integers(0, 40))
def test_a_stream_goes_on_from_any_place(sets, batching, seed, power, place):
    whole = stream_of(sets, batching, seed=seed, power=power)
    for _ in range(place):
        whole.draw()
    later = stream_of(sets, batching, seed=seed, power=power)
    later.cursor = json.loads(json.dumps(whole.cursor))
    for _ in range(8):
        one, other = whole.draw(), later.draw()
        assert np.array_equal(one.indices, other.indices)
        assert (one.epoch, one.cursor_after, one.epochs_after) == (other.epoch, other.cursor_after, other.epochs_after)


@given(sets_of_lengths, batchings, seeds, powers, st.integers(2, 3))
def test_processes_share_each_global_batch(sets, batching, seed, power, world):
    alone = stream_of(sets, batching, seed=seed, power=power)
    ranks = [stream_of(sets, batching, seed=seed, power=power, rank=rank, world=world) for rank in range(world)]
    for _ in range(6):
        expected, parts = alone.draw(), [rank.draw() for rank in ranks]
        assert sorted(np.concatenate([part.indices for part in parts])) == sorted(expected.indices)
        assert {(part.global_size, part.epoch) for part in parts} == {(expected.global_size, expected.epoch)}


def test_chance_decides_whose_turn_it_is() -> None:
    sets = [np.full(64, 5), np.full(64, 5)]
    plans = [mixed(sets, Batching(examples=4), seed=seed).plan(epoch) for seed, epoch in ((0, 0), (0, 1), (1, 0))]
    turns = [[set_of(batch[0], sets) for batch in plan] for plan in plans]
    assert len(set(map(tuple, turns))) == 3


def test_uniform_repeats_what_is_small_and_proportional_does_not() -> None:
    sets = [np.full(400, 5), np.full(40, 5)]
    assert mixed(sets, Batching(examples=10), power=lambda epoch: 1.0).shares(0) == [40, 4]
    assert mixed(sets, Batching(examples=10), power=lambda epoch: 0.0).shares(0) == [22, 22]


def test_lengths_of_trainings_count_epochs_of_the_mixture() -> None:
    stream = stream_of([np.full(40, 5), np.full(8, 5)], Batching(tokens=20))
    assert (stream.batches_in(0), stream.batches_in(7), stream.total_batches(1.5)) == (12, 12, 18)
    with pytest.raises(CheckpointError, match="batch 12 of epoch 0"):
        stream.cursor = {"epoch": 0, "batch": 12}


def test_a_set_without_examples_is_refused() -> None:
    with pytest.raises(DataError, match="no examples"):
        mixed([np.array([3]), np.array([], dtype=int)], Batching(examples=2))
