"""A loss of the user's own: the step it makes, however a batch is cut, and what it must return."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # the name everyone uses

from burnish.engine.learner_torch import Clipping, Learner
from burnish.errors import BurnishError
from burnish.spec.own_loss import OwnLoss
from burnish.spec.values import Objective
from tests.integration.engine.test_learner import CPU, Net, batch, cut, weighted

WEIGHTS = (1.0, 2.0, 0.5)


class Weighted:
    """Cross-entropy with weights of classes and rows, written by somebody else."""

    def loss(self, outputs: Mapping[str, Any], batch: Mapping[str, Any]) -> tuple[Any, Any]:
        of_classes = torch.tensor(WEIGHTS)
        each = F.cross_entropy(outputs["logits"], batch["label"], weight=of_classes, reduction="none")
        return (each * batch["weight"]).sum(), (batch["weight"] * of_classes[batch["label"]]).sum()


class Returning:
    def __init__(self, value: Any) -> None:
        self.value = value

    def loss(self, outputs: Mapping[str, Any], batch: Mapping[str, Any]) -> Any:
        return self.value if self.value is not None else (outputs["logits"].sum(dim=1), 3)


def learner(own: OwnLoss | None) -> Learner:
    torch.manual_seed(0)
    net = Net(3, 0.0)
    objective = Objective("cross_entropy", class_weights=WEIGHTS)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    return Learner(net, optimizer, objective, precision=CPU, seed=7, clip=Clipping(norm=None), own_loss=own)


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_it_makes_the_step_of_the_same_loss_of_ours_however_a_batch_is_cut(parts: int) -> None:
    given = weighted(batch(12))
    ours, own = learner(None), learner(Weighted())
    expected = ours.step([given], step=0, factor=1.0)
    result = own.step(cut(given, parts), step=0, factor=1.0)
    assert result.loss == pytest.approx(expected.loss, rel=1e-5)
    assert result.gradient_norm == pytest.approx(expected.gradient_norm, rel=1e-5)
    for left, right in zip(ours.network.parameters(), own.network.parameters(), strict=True):
        torch.testing.assert_close(left, right)


def test_a_step_that_weighs_nothing_changes_nothing() -> None:
    own = learner(Weighted())
    before = [each.detach().clone() for each in own.network.parameters()]
    result = own.step([{**batch(4), "weight": np.zeros(4, np.float32)}], step=0, factor=1.0)
    assert result.is_empty
    for left, right in zip(before, own.network.parameters(), strict=True):
        torch.testing.assert_close(left, right)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (3.0, "got float 3.0"),
        (None, r"got \(Tensor of shape \[4\], int 3\)"),
        ((torch.tensor(1.0), -1), r"got \(Tensor 1.0, int -1\)"),
        ((1.0, 2), r"got \(float 1.0, int 2\)"),
    ],
)
def test_what_is_no_sum_and_weight_is_refused_by_a_sentence(value: Any, said: str) -> None:
    with pytest.raises(BurnishError, match=f"train.loss: .*:Returning must return a sum, .*{said}"):
        learner(Returning(value)).step([batch(4)], step=0, factor=1.0)
