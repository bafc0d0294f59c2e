"""Contests as Markdown tables."""

from collections.abc import Mapping, Sequence

from bench.harness.blocks import Block, compare_rates, rate
from burnish.commands.bench import Spread


def rates(name: str, results: Mapping[str, Sequence[Block]], *, ours: str) -> list[str]:
    """Give one row a contestant: examples a second, and how many times faster ours was in the same rounds."""
    mine = [rate(block) for block in results[ours]]
    return [
        f"| {name} | {each} | {spread(Spread.of([rate(block) for block in blocks]), 1)} | "
        f"{'' if each == ours else spread(compare_rates(mine, [rate(block) for block in blocks]), 2, unit='x')} |"
        for each, blocks in results.items()
    ]


RATES_HEAD = ["| set | who | examples/s | Burnish is |", "| --- | --- | ---: | ---: |"]


def spread(figures: Spread, digits: int, *, unit: str = "", scale: float = 1.0) -> str:
    """Write `4.10x (3.80 to 4.40)`."""
    median, low, high = figures.figures(digits, scale=scale)
    return f"{median}{unit} ({low} to {high})"
