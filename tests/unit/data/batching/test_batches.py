"""Order is a pure function: every example once an epoch, any rank, any place to go on from."""

import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.batching import batches as batches_module
from burnish.data.batching.batches import (
    BatchStream,
    Cursor,
    evaluation_plan,
    evaluation_size,
    padding_waste,
    plan_epoch,
    spread,
)
from burnish.data.batching.rng import generator
from burnish.errors import CheckpointError, DataError
from burnish.spec.experiment import Batching

some_lengths = st.lists(st.integers(1, 200), min_size=1, max_size=300).map(np.array)
batchings = st.builds(Batching, examples=st.integers(1, 40), group_by_length=st.booleans()) | st.builds(
    Batching, tokens=st.integers(1, 2000), group_by_length=st.booleans()
)
seeds = st.integers(0, 2**32)


def short_texts(count=20_000):
    """Make lengths like those of short review phrases: many of a few words, few of fifty."""
    return 2 + np.random.default_rng(0).gamma(1.3, 8.0, count).astype(int).clip(1, 64)


def long_texts(count=5_000, limit=512):
    """Make lengths like those of film reviews: a heavy tail that the limit cuts off."""
    return np.random.default_rng(1).lognormal(5.4, 0.6, count).astype(int).clip(10, limit)


@given(some_lengths, batchings, seeds, st.integers(0, 1000))
def test_every_example_comes_once_an_epoch(lengths, batching, seed, epoch):
    plan = plan_epoch(lengths, seed=seed, epoch=epoch, batching=batching)
    assert sorted(np.concatenate(plan).tolist()) == list(range(len(lengths)))
    assert all(len(batch) for batch in plan)


@given(some_lengths, batchings, seeds, st.integers(0, 1000))
def test_a_plan_depends_on_its_arguments_alone(lengths, batching, seed, epoch):
    plan = plan_epoch(lengths, seed=seed, epoch=epoch, batching=batching)
    np.random.default_rng().random(7)
    again = plan_epoch(lengths.copy(), seed=seed, epoch=epoch, batching=batching)
    assert all(np.array_equal(one, other) for one, other in zip(plan, again, strict=True))


@given(some_lengths, st.integers(1, 2000), st.booleans(), seeds)
def test_padded_tokens_stay_within_the_budget(lengths, tokens, group, seed):
    plan = plan_epoch(lengths, seed=seed, epoch=0, batching=Batching(tokens=tokens, group_by_length=group))
    assert all(len(batch) == 1 or lengths[batch].max() * len(batch) <= tokens for batch in plan)


@given(some_lengths, st.integers(1, 40), st.booleans(), seeds)
def test_all_batches_but_one_have_the_examples_asked_for(lengths, examples, group, seed):
    plan = plan_epoch(lengths, seed=seed, epoch=0, batching=Batching(examples=examples, group_by_length=group))
    sizes = sorted((len(batch) for batch in plan), reverse=True)
    assert set(sizes[:-1]) <= {examples}
    assert len(plan) == -(-len(lengths) // examples)


def test_a_batch_has_32_examples_when_nothing_is_said():
    assert {len(batch) for batch in plan_epoch(np.ones(320), seed=0, epoch=0, batching=Batching())} == {32}


def test_an_empty_split_has_an_empty_plan():
    nothing = np.array([], dtype=int)
    for batching in (Batching(), Batching(tokens=9), Batching(tokens=9, group_by_length=False)):
        assert len(plan_epoch(nothing, seed=0, epoch=0, batching=batching)) == 0


@pytest.mark.parametrize("lengths", [short_texts(), long_texts(), long_texts(limit=256)], ids=["short", "512", "256"])
@pytest.mark.parametrize("batching", [Batching(examples=32), Batching(tokens=4096)], ids=["examples", "tokens"])
def test_less_than_three_percent_is_padding(lengths, batching):
    for epoch in range(2):
        plan = plan_epoch(lengths, seed=0, epoch=epoch, batching=batching)
        assert padding_waste(plan, lengths) < 0.03


def test_grouping_leaves_the_company_of_an_example_to_chance():
    lengths = short_texts()
    plans = [plan_epoch(lengths, seed=0, epoch=epoch, batching=Batching()) for epoch in range(4)]
    company = [{int(other) for batch in plan if 5 in batch for other in batch} - {5} for plan in plans]
    assert all(len(one & other) <= 3 for number, one in enumerate(company) for other in company[:number])


def test_batches_of_any_length_come_at_any_time():
    lengths = short_texts()
    means = np.array([lengths[batch].mean() for batch in plan_epoch(lengths, seed=0, epoch=0, batching=Batching())])
    assert abs(np.corrcoef(np.arange(len(means)), means)[0, 1]) < 0.15


@pytest.mark.parametrize("batching", [Batching(), Batching(group_by_length=False), Batching(tokens=500)])
def test_seeds_and_epochs_give_other_orders(batching):
    lengths = short_texts(500)
    keys = [(0, 0), (0, 1), (1, 0), (1, 1)]
    plans = [plan_epoch(lengths, seed=seed, epoch=epoch, batching=batching) for seed, epoch in keys]
    assert len({np.concatenate(plan).tobytes() for plan in plans}) == 4


@given(some_lengths, st.integers(1, 7), batchings, seeds)
def test_ranks_share_every_global_batch_without_overlap(lengths, world, batching, seed):
    ranks = [BatchStream(lengths, batching, seed, rank=rank, world=world) for rank in range(world)]
    alone = BatchStream(lengths, batching, seed)
    for _ in range(min(5, alone.batches_in(0))):
        parts = [rank.draw() for rank in ranks]
        whole = alone.draw()
        assert sorted(np.concatenate([part.indices for part in parts])) == sorted(whole.indices)
        assert {part.global_size for part in parts} == {len(whole.indices)}
        assert max(len(p.indices) for p in parts) - min(len(p.indices) for p in parts) <= 1


@given(some_lengths, batchings, seeds, st.integers(0, 50))
def test_a_stream_goes_on_from_its_cursor_as_if_nothing_had_happened(lengths, batching, seed, before):
    stream = BatchStream(lengths, batching, seed)
    for _ in range(before):
        stream.draw()
    resumed = BatchStream(lengths, batching, seed)
    resumed.cursor = json.loads(json.dumps(stream.cursor))
    for _ in range(10):
        one, other = stream.draw(), resumed.draw()
        assert np.array_equal(one.indices, other.indices)
        assert (one.epoch, one.cursor_before, one.epochs_after) == (
            other.epoch,
            other.cursor_before,
            other.epochs_after,
        )


def test_a_stream_rolls_from_epoch_to_epoch():
    stream = BatchStream(np.ones(10), Batching(examples=4), 0)
    drawn = [stream.draw() for _ in range(7)]
    assert [one.epoch for one in drawn] == [0, 0, 0, 1, 1, 1, 2]
    assert [one.global_size for one in drawn[:3]] != [4, 4, 4]
    assert [round(one.epochs_after, 3) for one in drawn[:4]] == [0.333, 0.667, 1.0, 1.333]
    assert drawn[2].cursor_after == drawn[3].cursor_before == {"epoch": 1, "batch": 0}
    assert stream.cursor == {"epoch": 2, "batch": 1}


@pytest.mark.parametrize("batching", [Batching(), Batching(tokens=500)])
def test_a_far_cursor_costs_one_plan(batching, monkeypatch):
    epochs = []

    def counted(lengths, *, seed, epoch, batching):
        epochs.append(epoch)
        return plan_epoch(lengths, seed=seed, epoch=epoch, batching=batching)

    monkeypatch.setattr(batches_module, "plan_epoch", counted)
    stream = BatchStream(short_texts(1000), batching, 0)
    stream.cursor = Cursor(epoch=100_000, batch=3)
    assert stream.draw().epoch == 100_000
    assert epochs == [100_000]


@pytest.mark.parametrize("place", [{"epoch": 0, "batch": 3}, {"epoch": -1, "batch": 0}, {"epoch": 5, "batch": -1}])
def test_a_cursor_outside_the_data_is_refused(place):
    stream = BatchStream(np.ones(10), Batching(examples=4), 0)
    with pytest.raises(CheckpointError, match="is not in an epoch of 3 batches"):
        stream.cursor = place


def test_a_stream_over_nothing_is_refused():
    with pytest.raises(DataError, match="no examples to train on"):
        BatchStream(np.array([]), Batching(), 0)


@given(some_lengths, batchings, seeds, st.integers(1, 4))
def test_total_batches_is_what_whole_epochs_take(lengths, batching, seed, epochs):
    stream = BatchStream(lengths, batching, seed)
    total = stream.total_batches(epochs)
    assert total == sum(stream.batches_in(epoch) for epoch in range(epochs))
    for _ in range(total):
        last = stream.draw()
    assert last.epochs_after == epochs
    assert stream.cursor == {"epoch": epochs, "batch": 0}


def test_a_part_of_an_epoch_is_rounded_up_to_batches():
    stream = BatchStream(np.ones(300), Batching(examples=10), 0)
    assert [stream.total_batches(epochs) for epochs in (0.1, 0.5, 1.0, 1.01, 2.5)] == [3, 15, 30, 31, 75]
    assert stream.total_batches(0.3) == 9
    assert stream.total_batches(3 * 0.1) == 9


def test_a_stream_tells_its_own_waste():
    stream = BatchStream(np.array([1, 3]), Batching(examples=2), 0)
    assert stream.padding_waste() == pytest.approx(2 / 6)


@given(some_lengths, st.none() | st.integers(1, 2000))
def test_evaluation_takes_every_example_once_longest_first(lengths, tokens):
    plan = evaluation_plan(lengths, tokens=tokens)
    order = np.concatenate(plan)
    assert sorted(order.tolist()) == list(range(len(lengths)))
    assert (np.diff(lengths[order]) <= 0).all()
    if tokens is not None:
        assert all(len(batch) == 1 or lengths[batch].max() * len(batch) <= tokens for batch in plan)


def test_evaluation_by_examples_wastes_next_to_nothing():
    lengths = short_texts()
    assert padding_waste(evaluation_plan(lengths, examples=64), lengths) < 0.01


def listed(lengths, *, seed, epoch, batching):
    """Plan an epoch of grouped batches the plain way, as a list of lists."""
    random = generator(seed, "order", epoch=epoch)
    order = random.permutation(len(lengths)).tolist()
    usual = batching.examples or max(1, int(batching.tokens / max(1.0, np.mean(lengths))))
    batches = []
    for start in range(0, len(order), 128 * usual):
        pool = sorted(order[start : start + 128 * usual], key=lambda example: -lengths[example])
        while pool:
            count = batching.examples or max(1, batching.tokens // lengths[pool[0]])
            batches.append(pool[:count])
            pool = pool[count:]
    return [batches[place] for place in random.permutation(len(batches))]


@given(some_lengths, st.integers(1, 3) | st.none(), st.integers(1, 400), seeds, st.integers(0, 9))
def test_a_plan_is_the_list_of_batches_that_it_stands_for(lengths, examples, tokens, seed, epoch):
    batching = Batching(examples=examples) if examples else Batching(tokens=tokens)
    plan = plan_epoch(lengths, seed=seed, epoch=epoch, batching=batching)
    assert [batch.tolist() for batch in plan] == listed(lengths, seed=seed, epoch=epoch, batching=batching)
    assert [batch.tolist() for batch in plan[1::3]] == [batch.tolist() for batch in plan][1::3]


def test_a_plan_takes_a_few_bytes_an_example():
    lengths = short_texts(200_000).astype(np.int32)
    tracemalloc.start()
    plan = plan_epoch(lengths, seed=0, epoch=0, batching=Batching())
    held, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(plan) == 6250
    assert held < 6 * len(lengths)


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=300), st.integers(1, 20))
def test_the_chosen_batches_stand_for_all(sizes: list[int], count: int) -> None:
    chosen = spread(sizes, count)
    assert len(set(chosen)) == len(chosen) == min(count, len(sizes))
    if len(sizes) <= count:
        assert sorted(chosen) == list(range(len(sizes)))
    ordered = np.sort(sizes)
    share = -(-len(sizes) // len(chosen))
    most = np.abs(np.diff(np.concatenate([ordered[::share], ordered[-1:]]))).max(initial=0)
    assert abs(np.mean([sizes[at] for at in chosen]) - ordered.mean()) <= most + 1e-9


@pytest.mark.parametrize(("longest", "size"), [(1, 4096), (14, 64), (64, 64), (256, 16), (512, 8), (9000, 1)])
def test_fewer_long_texts_are_answered_at_once(longest: int, size: int) -> None:
    assert evaluation_size(np.array([1, longest])) == size
