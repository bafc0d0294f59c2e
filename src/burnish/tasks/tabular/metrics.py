"""Which scores make sense for a table's target; the first is the one that a run is judged by."""

from burnish.metrics.classification import F1, Accuracy, CalibrationError, LogLoss, PrAuc, RocAuc
from burnish.metrics.regression import R2, GammaDeviance, Mae, Pinball, PoissonDeviance, Rmse
from burnish.spec.protocols import Metric

_TWO: tuple[Metric, ...] = (RocAuc(), Accuracy(), F1(), PrAuc(), LogLoss(), CalibrationError())
_SEVERAL: tuple[Metric, ...] = (Accuracy(), F1(), RocAuc(), LogLoss(), CalibrationError())
_NUMBERS: tuple[Metric, ...] = (Rmse(), Mae(), R2())


def metrics_for(kind: str, *, loss: str, quantile: float) -> tuple[Metric, ...]:
    """Give the metrics of one kind, the loss's own among them; for `auto`, those of every kind that may turn out."""
    if kind == "regression":
        return _of_numbers(loss, quantile)
    if kind == "auto":
        return (*_TWO, *_of_numbers(loss, quantile))
    return _TWO if kind == "binary" else _SEVERAL


def _of_numbers(loss: str, quantile: float) -> tuple[Metric, ...]:
    own: dict[str, Metric] = {
        "poisson": PoissonDeviance(),
        "gamma": GammaDeviance(),
        "quantile": Pinball(quantile=quantile),
    }
    return (own[loss], *_NUMBERS) if loss in own else _NUMBERS
