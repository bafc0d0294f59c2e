"""What precision, recall and F1 share: a ratio of counts, averaged over classes."""

from __future__ import annotations

import re
from typing import ClassVar, Literal

from pydantic import model_validator

from burnish.metrics.metric import DECISIONS, FunctionMetric
from burnish.spec.values import Array, Outcome

Average = Literal["auto", "binary", "macro", "micro", "weighted"]


class Averaged(FunctionMetric):
    """A ratio of counts, averaged over classes."""

    stem: ClassVar[str]
    """The name of the score, and of the ratio among `decisions.Counts`."""
    kinds = DECISIONS
    shorthand = "average"

    average: Average = "auto"
    """`auto` is `binary` for two classes and `macro` otherwise."""
    positive: str | None = None
    """Score this label alone; by default the second of two."""

    @model_validator(mode="after")
    def _positive_means_one_label(self) -> Averaged:
        if self.positive is not None and self.average not in ("auto", "binary"):
            raise ValueError(f"takes `positive` or `average: {self.average}`, not both: `positive` scores one label")
        return self

    def names(self) -> tuple[str, ...]:
        """Name the score: the stem, then the label or the average if one was written."""
        if self.positive is not None:
            return (suffixed(self.stem, self.positive),)
        return (self.stem if self.average == "auto" else f"{self.stem}_{self.average}",)

    def applies(self, kind: str) -> bool:
        """Score classes and label sets; one label of several only if it is named."""
        if self.average == "binary" and self.positive is None:
            return kind == "binary"
        return kind in self.kinds

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.decisions import Counts, averaged, position  # numpy, which checking a config must not load

        label = 1 if outcome.kind == "binary" and self.average in ("auto", "binary") else None
        if self.positive is not None:
            label = position(self.positive, outcome.labels, where=f"metrics.{self.stem}.positive")
        ratio = getattr(Counts, self.stem)
        return {self.names()[0]: averaged(outcome, weights, ratio, average=self.average, label=label)}


def suffixed(stem: str, label: str) -> str:
    """Name the score of one label; a label without a letter or digit stands as it is."""
    plain = re.sub(r"\W+", "_", label.lower()).strip("_")
    return f"{stem}_{plain or label}"
