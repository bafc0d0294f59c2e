"""Scores of numbers: correlations, errors and explained variance."""

from __future__ import annotations

from typing import ClassVar

from burnish.metrics.vocabulary import Better, Scale
from burnish.spec.component import Component
from burnish.spec.values import Array, Outcome


class Pearson(Component):
    """Pearson (linear) correlation between prediction and truth."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("pearson",)

    def applies(self, kind: str) -> bool:
        """Score numbers."""
        return kind == "regression"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.deviations import pearson  # numpy, which checking a config must not load

        return {"pearson": pearson(outcome, weights)}


class Spearman(Component):
    """Spearman (rank) correlation between prediction and truth."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("spearman",)

    def applies(self, kind: str) -> bool:
        """Score numbers."""
        return kind == "regression"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`; ranks are those within each set."""
        from burnish.metrics.deviations import spearman  # numpy, which checking a config must not load

        return {"spearman": spearman(outcome, weights)}


class Mse(Component):
    """Mean squared error."""

    better: ClassVar[Better] = "lower"
    scale: ClassVar[Scale] = "value"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("mse",)

    def applies(self, kind: str) -> bool:
        """Score numbers."""
        return kind == "regression"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.deviations import mean_squared  # numpy, which checking a config must not load

        return {"mse": mean_squared(outcome, weights)}


class Mae(Component):
    """Mean absolute error."""

    better: ClassVar[Better] = "lower"
    scale: ClassVar[Scale] = "value"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("mae",)

    def applies(self, kind: str) -> bool:
        """Score numbers."""
        return kind == "regression"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.deviations import mean_absolute  # numpy, which checking a config must not load

        return {"mae": mean_absolute(outcome, weights)}


class R2(Component):
    """Coefficient of determination (R²): share of variance explained; 0 is no better than the mean."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("r2",)

    def applies(self, kind: str) -> bool:
        """Score numbers."""
        return kind == "regression"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.deviations import explained  # numpy, which checking a config must not load

        return {"r2": explained(outcome, weights)}
