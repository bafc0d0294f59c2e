"""All contestants work on the same rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from burnish.commands.workers.speed import choose_rows
from burnish.data.batching.batches import padding_waste, plan_epoch
from burnish.spec.experiment import Batching

EIGHT = Batching(examples=8)


@given(st.lists(st.integers(1, 60), max_size=500), st.integers(1, 500), st.sampled_from([EIGHT, Batching(tokens=90)]))
def test_rows_are_chosen_once_each_in_order_and_always_the_same(lengths: list[int], rows: int, by: Batching) -> None:
    chosen = choose_rows(np.array(lengths, dtype=np.int64), rows, batching=by).tolist()
    assert len(chosen) == min(len(lengths), rows)
    assert chosen == sorted(set(chosen))
    assert all(0 <= row < len(lengths) for row in chosen)
    assert chosen == choose_rows(np.array(lengths, dtype=np.int64), rows, batching=by).tolist()


def test_rows_are_as_long_and_as_well_packed_as_all_of_them() -> None:
    lengths = np.random.default_rng(1).geometric(0.05, 40_000)
    part = lengths[choose_rows(lengths, 256, batching=EIGHT)]
    assert abs(part.mean() / lengths.mean() - 1) < 0.05
    assert padding_waste(plan_epoch(part, seed=0, epoch=0, batching=EIGHT), part) < 0.05
