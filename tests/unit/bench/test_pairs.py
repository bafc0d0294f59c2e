"""Turns are fair, and ratios are of figures from the same round."""

import statistics
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.harness.blocks import Block, compare_rates
from bench.harness.pairs import fastest, order_of, take_turns
from burnish.commands.bench import Spread


def test_everyone_has_a_turn_in_every_round_and_what_warms_up_is_not_kept() -> None:
    calls: list[str] = []

    def contestant(name: str) -> Callable[[], int]:
        return lambda: calls.append(name) or len(calls)

    results = take_turns({name: contestant(name) for name in "ab"}, rounds=3, warmups=1)
    assert "".join(calls) == "ba" + "ab" + "ba" + "ab"
    assert results == {"a": [3, 6, 7], "b": [4, 5, 8]}


@given(st.lists(st.text(min_size=1), min_size=2, max_size=6, unique=True), st.integers(-3, 20))
def test_every_two_change_places_from_one_round_to_the_next(names: list[str], number: int) -> None:
    first, second = order_of(names, number), order_of(names, number + 1)
    assert sorted(first) == sorted(names)
    assert first == second[::-1]


def test_a_machine_that_slows_down_does_not_change_the_ratio() -> None:
    moods = [1.0, 1.7, 0.6, 2.0, 1.1]
    ours, theirs = ([speed * mood for mood in moods] for speed in (40.0, 10.0))
    ratio = compare_rates(ours, theirs)
    assert (ratio.median, ratio.low, ratio.high) == pytest.approx((4.0, 4.0, 4.0))


@given(st.lists(st.tuples(st.floats(0.1, 1e6), st.floats(0.1, 1e6)), min_size=1, max_size=9))
def test_a_ratio_is_the_median_of_ratios_and_lies_between_its_ends(pairs: list[tuple[float, float]]) -> None:
    ratio = compare_rates([ours for ours, _ in pairs], [theirs for _, theirs in pairs])
    assert ratio.median == statistics.median(ours / theirs for ours, theirs in pairs)
    assert ratio.low <= ratio.median <= ratio.high


def test_figures_of_unlike_numbers_of_rounds_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        compare_rates([1.0, 2.0], [1.0])


def test_figures_are_written_with_their_scale() -> None:
    assert Spread(0.5, 0.25, 1234.5).figures(1, scale=100) == ("50.0", "25.0", "123,450.0")


def test_the_fastest_is_chosen_by_the_time_of_an_example() -> None:
    blocks = {"many": Block(2.0, examples=100), "few": Block(1.0, examples=10)}
    assert fastest({name: lambda block=block: block for name, block in blocks.items()}) == "many"
