"""What precision, recall and F1 share: a ratio of counts, averaged over classes."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import model_validator

from burnish.metrics.vocabulary import Better, Scale
from burnish.spec.component import Component
from burnish.spec.values import Array, Outcome

if TYPE_CHECKING:
    from burnish.metrics.decisions import Counts

Average = Literal["auto", "binary", "macro", "micro", "weighted"]


class Averaged(Component):
    """A ratio of counts, averaged over classes."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"
    stem: ClassVar[str]
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
        return kind in ("binary", "multiclass", "multilabel")

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.decisions import averaged, position  # numpy, which checking a config must not load

        label = 1 if outcome.kind == "binary" and self.average in ("auto", "binary") else None
        if self.positive is not None:
            label = position(self.positive, outcome.labels, where=f"metrics.{self.stem}.positive")
        return {self.names()[0]: averaged(outcome, weights, self.value, average=self.average, label=label)}

    @abstractmethod
    def value(self, counts: Counts) -> Array:
        """Make the ratio of counts that this metric is."""


def suffixed(stem: str, label: str) -> str:
    """Name the score of one label; a label without a letter or digit stands as it is."""
    plain = re.sub(r"\W+", "_", label.lower()).strip("_")
    return f"{stem}_{plain or label}"
