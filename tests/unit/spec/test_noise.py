"""Draws are functions of seed, step, example and how many came before, and of nothing else."""

import numpy as np

from burnish.spec.noise import Noise, current_noise, drawing, drawn_again


def test_the_same_examples_have_the_same_keys_in_any_batch() -> None:
    whole = Noise(np.arange(100, 116), seed=1, step=2).keys
    part = Noise(np.array([107, 103]), seed=1, step=2).keys
    assert part.tolist() == [whole[7], whole[3]]


def test_no_two_examples_share_a_key() -> None:
    assert len({*Noise(np.arange(200_000), seed=0, step=0).keys.tolist()}) == 200_000


def test_draws_differ_by_seed_step_and_number_and_not_by_batch() -> None:
    drawn = {
        (seed, step, number): word
        for seed in (0, 1)
        for step in (0, 1, 2)
        for noise in [Noise(np.arange(4), seed=seed, step=step)]
        for number, word in enumerate([noise.draw() for _ in range(50)])
    }
    assert len({*drawn.values()}) == len(drawn)
    assert Noise(np.array([9]), seed=1, step=2).draw() == drawn[1, 2, 0]


def test_what_is_computed_again_draws_what_it_drew_and_leaves_the_count_as_it_was() -> None:
    noise = Noise(np.arange(2), seed=0, step=0)
    with drawing(noise):
        assert current_noise() is noise
        _, again = drawn_again()
        first = [noise.draw(), noise.draw()]
        with again:
            assert [noise.draw()] == first[:1]
        assert noise.draw() not in first
    assert current_noise() is None
