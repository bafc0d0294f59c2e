"""Errors of numbers in their own unit, and the deviances that belong to a loss."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from burnish.metrics.vocabulary import Better, Scale
from burnish.spec.component import Component
from burnish.spec.values import Array, Outcome


class Rmse(Component):
    """Root mean squared error, in the unit of the target."""

    better: ClassVar[Better] = "lower"
    scale: ClassVar[Scale] = "value"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("rmse",)

    def applies(self, kind: str) -> bool:
        """Score numbers."""
        return kind == "regression"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.deviations import root_mean_squared  # numpy, which checking a config must not load

        return {"rmse": root_mean_squared(outcome, weights)}


class PoissonDeviance(Component):
    """Mean Poisson deviance, for counts."""

    better: ClassVar[Better] = "lower"
    scale: ClassVar[Scale] = "value"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("poisson_deviance",)

    def applies(self, kind: str) -> bool:
        """Score numbers; those below 0 are no counts and give nan."""
        return kind == "regression"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.deviations import poisson_deviance  # numpy, which checking a config must not load

        return {"poisson_deviance": poisson_deviance(outcome, weights)}


class GammaDeviance(Component):
    """Mean Gamma deviance, for positive amounts; errors count in proportion."""

    better: ClassVar[Better] = "lower"
    scale: ClassVar[Scale] = "value"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("gamma_deviance",)

    def applies(self, kind: str) -> bool:
        """Score numbers; those that are not positive give nan."""
        return kind == "regression"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.deviations import gamma_deviance  # numpy, which checking a config must not load

        return {"gamma_deviance": gamma_deviance(outcome, weights)}


class Pinball(Component):
    """Pinball (quantile) loss."""

    better: ClassVar[Better] = "lower"
    scale: ClassVar[Scale] = "value"
    shorthand = "quantile"

    quantile: Annotated[float, Field(gt=0, lt=1)] = 0.5

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("pinball",)

    def applies(self, kind: str) -> bool:
        """Score numbers."""
        return kind == "regression"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.deviations import pinball  # numpy, which checking a config must not load

        return {"pinball": pinball(outcome, weights, quantile=self.quantile)}
