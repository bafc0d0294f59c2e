"""Stretches of work as the benchmarks compare them."""

from collections.abc import Sequence
from dataclasses import dataclass

from burnish.commands.bench import Spread
from burnish.commands.workers.speed import Block as Stretch


@dataclass(frozen=True)
class Block(Stretch):
    """One stretch of work, perhaps of known floating-point operations."""

    flops: float = 0.0

    @property
    def flops_rate(self) -> float:
        """Floating-point operations per second."""
        return self.flops / self.seconds


def rate(block: Stretch) -> float:
    """Examples per second."""
    return block.examples / block.seconds


def compare_rates(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Summarise ours / theirs, each ratio of two figures that were taken in the same round."""
    return Spread.of([mine / other for mine, other in zip(ours, theirs, strict=True)])
