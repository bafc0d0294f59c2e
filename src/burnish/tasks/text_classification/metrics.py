"""Which scores make sense for which kind of labels; the first is the one that selects."""

from burnish.metrics.classification import F1, Accuracy, CalibrationError, LogLoss, Matthews, PrAuc, RocAuc
from burnish.metrics.regression import R2, Mae, Mse, Pearson, Rmse, Spearman
from burnish.spec.protocols import Metric

_CLASSES: tuple[Metric, ...] = (Accuracy(), F1(), Matthews(), RocAuc(), LogLoss(), CalibrationError())
_SETS: tuple[Metric, ...] = (F1(average="micro"), F1(average="macro"), Accuracy(), RocAuc(), PrAuc(), LogLoss())
# First a score that knows the level of the numbers, which a correlation does not see.
_NUMBERS: tuple[Metric, ...] = (R2(), Rmse(), Mae(), Mse(), Pearson(), Spearman())
CORRELATIONS: tuple[Metric, ...] = (Pearson(), Spearman(), Mse(), Mae(), R2())
"""For numbers whose order matters more than their level, such as how alike two texts are."""


def metrics_for(kind: str) -> tuple[Metric, ...]:
    """Give the metrics of one kind; for `auto`, those of every kind that may turn out."""
    if kind == "multilabel":
        return _SETS
    if kind == "regression":
        return _NUMBERS
    return _CLASSES if kind != "auto" else (*_CLASSES, *_SETS, *_NUMBERS)
