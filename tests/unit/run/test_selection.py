"""Which score tells the best checkpoint, and which one judges the run."""

import pytest

from burnish.metrics.classification import F1, Accuracy, LogLoss, RocAuc
from burnish.metrics.regression import R2, Mae, Mse
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
        (Select(score="loss"), (R2(), Mse()), ("mse", "min"), "r2"),
        (Select(score="log_loss"), (RocAuc(), LogLoss()), ("log_loss", "min"), "log_loss"),
        (Select(score="r2", direction="min"), (Mae(), R2()), ("r2", "min"), "r2"),
        (Select(score="auto"), (Accuracy(), LogLoss()), ("accuracy", "max"), "accuracy"),
    ],
)
def test_the_loss_selects_and_the_first_score_judges(
    select: Select, metrics: tuple[Metric, ...], selects: tuple[str, str], judges: str
) -> None:
    chosen = selection(select, metrics, losses=("log_loss", "mse"), num_rows=1000)
    assert (chosen, judging(select, metrics)) == (selects, judges)


@pytest.mark.parametrize(
    ("metrics", "selects"),
    [
        ((Accuracy(), LogLoss()), ("log_loss", "min")),
        ((Accuracy(),), ("accuracy", "max")),
        ((F1(average="micro"), LogLoss()), ("f1_micro", "max")),
    ],
)
def test_an_accuracy_over_few_rows_is_too_coarse_to_choose_by(
    metrics: tuple[Metric, ...], selects: tuple[str, str]
) -> None:
    assert selection(Select(score="auto"), metrics, losses=("log_loss",), num_rows=999) == selects
