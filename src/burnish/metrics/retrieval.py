"""Scores of ranks: how far down the list the right passage stands."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, PositiveInt

from burnish.metrics.vocabulary import Better, Scale
from burnish.spec.component import Component
from burnish.spec.values import Array, Outcome


class Mrr(Component):
    """Mean reciprocal rank: 1 if the right passage always comes first, 0.5 if always second."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("mrr",)

    def applies(self, kind: str) -> bool:
        """Score ranks."""
        return kind == "retrieval"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.sums import mean, over_set  # numpy, which checking a config must not load

        return {"mrr": over_set(outcome, weights, lambda part: mean(part, 1 / outcome.decisions))}


class RecallAt(Component):
    """Recall at k: how often the right passage is among the first k."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"
    shorthand: ClassVar[str | None] = "k"

    k: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] = (1, 5, 10)

    def names(self) -> tuple[str, ...]:
        """Name the scores."""
        return tuple(f"recall_at_{k}" for k in self.k)

    def applies(self, kind: str) -> bool:
        """Score ranks."""
        return kind == "retrieval"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        return {f"recall_at_{k}": _share(outcome, weights, k=k) for k in self.k}


def _share(outcome: Outcome, weights: Array | None, *, k: int) -> Array:
    from burnish.metrics.sums import mean, over_set  # numpy, which checking a config must not load

    return over_set(outcome, weights, lambda part: mean(part, (outcome.decisions <= k).astype(float)))
