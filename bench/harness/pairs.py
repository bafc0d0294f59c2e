"""Takes turns between contestants, and gives what a noisy machine leaves true: medians of ratios within rounds."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from bench.harness.blocks import Block

T = TypeVar("T")


def take_turns(
    contestants: Mapping[str, Callable[[], T]],
    *,
    rounds: int,
    warmups: int = 1,
    tell: Callable[[str], None] = lambda _sentence: None,
) -> dict[str, list[T]]:
    """Let each work once a round, in an order that turns round each time; what warms up is not kept."""
    results: dict[str, list[T]] = {name: [] for name in contestants}
    for number in range(-warmups, rounds):
        tell(f"round {number + 1} of {rounds}" if number >= 0 else "warming up")
        for name in order_of(list(contestants), number):
            result = contestants[name]()
            if number >= 0:
                results[name].append(result)
    return results


def order_of(names: Sequence[str], number: int) -> list[str]:
    """Give the order of a round: every two change places from one to the next, so that no drift favours either."""
    return [*names] if number % 2 == 0 else [*reversed(names)]


def fastest(contestants: Mapping[str, Callable[[], Block]], *, rounds: int = 2) -> str:
    """Name the one with the best median seconds an example."""
    results = take_turns(contestants, rounds=rounds)
    return min(results, key=lambda name: statistics.median(block.seconds / block.examples for block in results[name]))
