"""Metrics of retrieval: how far down the list the right passage is."""

from typing import Annotated, ClassVar

from pydantic import Field, PositiveInt

from burnish.metrics.metric import FunctionMetric


class Mrr(FunctionMetric):
    """Mean reciprocal rank: 1 if the right passage always comes first, 0.5 if always second."""

    gives = ("mrr",)
    kinds = ("retrieval",)
    compute = "ranks:mean_reciprocal_rank"


class RecallAt(FunctionMetric):
    """Recall at k: how often the right passage is among the first k."""

    kinds = ("retrieval",)
    compute = "ranks:recall_at"
    shorthand: ClassVar[str | None] = "k"

    k: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] = (1, 5, 10)

    def names(self) -> tuple[str, ...]:
        """Name one score for each k."""
        return tuple(f"recall_at_{k}" for k in self.k)
