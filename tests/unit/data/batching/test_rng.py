"""A key names one stream of random numbers, and only one."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.batching.rng import generator, uniforms

numbers = st.integers(0, 2**63)
keys = st.tuples(numbers, st.sampled_from(["order", "truncation"]), numbers, numbers, numbers)


def stream(key):
    seed, purpose, epoch, row, view = key
    return generator(seed, purpose, epoch=epoch, row=row, view=view).integers(0, 2**62, 4).tolist()


@given(keys, keys)
def test_streams_are_equal_exactly_when_their_keys_are(one, other):
    assert (stream(one) == stream(other)) == (one == other)
    assert stream(one) == stream(one)


def test_neighbouring_keys_share_no_numbers():
    drawn = [generator(0, "order", epoch=epoch, row=row).random(100) for epoch in range(5) for row in range(5)]
    assert len(np.unique(np.concatenate(drawn))) == 2500


def test_any_seed_is_taken():
    assert stream((2**200 + 1, "order", 0, 0, 0)) == stream((1 + 2**200, "order", 0, 0, 0))


def test_numbers_of_many_rows_are_even_and_each_row_has_its_own():
    drawn = uniforms(np.arange(200), 50, seed=1, purpose="mask", epoch=2)
    assert np.histogram(drawn, bins=10, range=(0, 1))[0].min() > 850
    assert len(np.unique(drawn)) == drawn.size
    picked = uniforms(np.array([7, 3]), 20, seed=1, purpose="mask", epoch=2)
    assert (picked == drawn[[7, 3], :20]).all()
    for other in ({"epoch": 3}, {"seed": 2}, {"purpose": "pair"}, {"lane": 1}):
        key = {"seed": 1, "purpose": "mask", "epoch": 2} | other
        assert not (uniforms(np.arange(200), 50, **key) == drawn).any()
