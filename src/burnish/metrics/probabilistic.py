"""Scores of probabilities: log loss and calibration error."""

from __future__ import annotations

from typing import ClassVar

from pydantic import PositiveInt

from burnish.metrics.vocabulary import CLASSES, Better, Scale
from burnish.spec.component import Component
from burnish.spec.values import Array, Outcome


class LogLoss(Component):
    """Mean negative log-likelihood of the true labels (cross-entropy)."""

    better: ClassVar[Better] = "lower"
    scale: ClassVar[Scale] = "value"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("log_loss",)

    def applies(self, kind: str) -> bool:
        """Score classes and label sets."""
        return kind in (*CLASSES, "multilabel")

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.confidence import log_loss  # numpy, which checking a config must not load

        return {"log_loss": log_loss(outcome, weights)}


class CalibrationError(Component):
    """Expected calibration error: gap between confidence and accuracy, averaged over bins."""

    better: ClassVar[Better] = "lower"
    scale: ClassVar[Scale] = "share"
    shorthand = "bins"

    bins: PositiveInt = 15

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("calibration_error",)

    def applies(self, kind: str) -> bool:
        """Score classes and label sets."""
        return kind in (*CLASSES, "multilabel")

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.confidence import calibration_error  # numpy, which checking a config must not load

        return {"calibration_error": calibration_error(outcome, weights, num_bins=self.bins)}
