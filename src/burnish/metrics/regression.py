"""Metrics of numbers: correlations, errors in the unit of the target, and the deviances that belong to a loss."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from burnish.metrics.metric import Better, FunctionMetric, Scale


class _Correlation(FunctionMetric):
    kinds = ("regression",)


class _Error(FunctionMetric):
    better: ClassVar[Better] = "lower"
    scale: ClassVar[Scale] = "value"
    kinds = ("regression",)


class Pearson(_Correlation):
    """Pearson (linear) correlation between prediction and truth."""

    gives = ("pearson",)
    compute = "deviations:pearson"


class Spearman(_Correlation):
    """Spearman (rank) correlation between prediction and truth."""

    gives = ("spearman",)
    compute = "deviations:spearman"


class PearsonAndSpearman(_Correlation):
    """Mean of Pearson and Spearman correlation, as STS-B is scored in GLUE."""

    gives = ("pearson_and_spearman",)
    compute = "deviations:pearson_and_spearman"


class R2(_Correlation):
    """Coefficient of determination (R²): share of variance explained; 0 is no better than the mean."""

    gives = ("r2",)
    compute = "deviations:explain_variance"


class Mse(_Error):
    """Mean squared error."""

    gives = ("mse",)
    compute = "deviations:mean_squared"


class Rmse(_Error):
    """Root mean squared error, in the unit of the target."""

    gives = ("rmse",)
    compute = "deviations:root_mean_squared"


class Mae(_Error):
    """Mean absolute error."""

    gives = ("mae",)
    compute = "deviations:mean_absolute"


class PoissonDeviance(_Error):
    """Mean Poisson deviance, for counts."""

    gives = ("poisson_deviance",)
    compute = "deviations:poisson_deviance"


class GammaDeviance(_Error):
    """Mean Gamma deviance, for positive amounts; errors count in proportion."""

    gives = ("gamma_deviance",)
    compute = "deviations:gamma_deviance"


class Pinball(_Error):
    """Pinball (quantile) loss."""

    gives = ("pinball",)
    compute = "deviations:pinball"
    shorthand = "quantile"

    quantile: Annotated[float, Field(gt=0, lt=1)] = 0.5
