"""Scores of the order that probabilities put rows in: ROC-AUC and PR-AUC."""

from __future__ import annotations

from typing import ClassVar

from burnish.metrics.vocabulary import CLASSES, Better, Scale
from burnish.spec.component import Component
from burnish.spec.values import Array, Outcome


class RocAuc(Component):
    """Area under the ROC curve: how often a positive row ranks above a negative one."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("roc_auc",)

    def applies(self, kind: str) -> bool:
        """Score classes and label sets."""
        return kind in (*CLASSES, "multilabel")

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.ranks import area_under_roc, over_labels  # numpy, which checking a config must not load

        return {"roc_auc": over_labels(outcome, weights, area_under_roc)}


class PrAuc(Component):
    """Average precision (area under the precision-recall curve)."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("pr_auc",)

    def applies(self, kind: str) -> bool:
        """Score classes and label sets."""
        return kind in (*CLASSES, "multilabel")

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.ranks import average_precision, over_labels  # numpy, which checking a config must not load

        return {"pr_auc": over_labels(outcome, weights, average_precision)}
