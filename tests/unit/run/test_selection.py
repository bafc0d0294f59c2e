"""Which score tells the best checkpoint, and which one judges the run."""

import pytest

from burnish.metrics.classification import Accuracy, LogLoss, RocAuc
from burnish.metrics.regression import R2, Mae
from burnish.run.selection import judging, selection
from burnish.spec.experiment import Select
from burnish.spec.protocols import Metric


@pytest.mark.parametrize(
    ("select", "metrics", "selects", "judges"),
    [
        (Select(), (RocAuc(), LogLoss()), ("roc_auc", "max"), "roc_auc"),
        (Select(score="loss"), (RocAuc(), Accuracy(), LogLoss()), ("log_loss", "min"), "roc_auc"),
        (Select(score="loss"), (RocAuc(), Accuracy()), ("roc_auc", "max"), "roc_auc"),
        (Select(score="loss"), (Mae(), R2()), ("mae", "min"), "mae"),
        (Select(score="log_loss"), (RocAuc(), LogLoss()), ("log_loss", "min"), "log_loss"),
        (Select(score="r2", direction="min"), (Mae(), R2()), ("r2", "min"), "r2"),
    ],
)
def test_the_loss_selects_and_the_first_score_judges(
    select: Select, metrics: tuple[Metric, ...], selects: tuple[str, str], judges: str
) -> None:
    assert (selection(select, metrics), judging(select, metrics)) == (selects, judges)
