"""Takes turns between contestants, and gives what a noisy machine leaves true: medians of ratios within rounds."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Block:
    """One stretch of work: how long it took and how much it was."""

    seconds: float
    examples: int = 0
    tokens: int = 0
    flops: float = 0.0
    waited_seconds: float = 0.0
    """What of it was spent waiting for data."""

    @property
    def rate(self) -> float:
        """Examples a second."""
        return self.examples / self.seconds

    @property
    def flops_rate(self) -> float:
        """Floating-point operations a second."""
        return self.flops / self.seconds


@dataclass(frozen=True)
class Spread:
    """The median of some figures, with the least and the most."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Summarise figures; there must be one at least."""
        return cls(statistics.median(values), min(values), max(values))

    @classmethod
    def of_ratios(cls, ours: Sequence[float], theirs: Sequence[float]) -> "Spread":
        """Summarise ours / theirs, each ratio of two figures that were taken in the same round."""
        return cls.of([mine / other for mine, other in zip(ours, theirs, strict=True)])

    def figures(self, digits: int, *, scale: float = 1.0) -> tuple[str, str, str]:
        """Write median, least and most, each times `scale`."""
        median, low, high = (f"{value * scale:,.{digits}f}" for value in (self.median, self.low, self.high))
        return median, low, high


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
