"""Float16 keeps small gradients, leaves out steps that overflow, and forgets nothing in a checkpoint."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from burnish.engine.infer_torch import Autocast
from burnish.engine.learner_torch import Learner
from burnish.engine.loss_scale_torch import LossScale
from burnish.engine.recovery import BadStep
from burnish.engine.snapshot_torch import read_learner, snapshot
from burnish.spec.values import Objective

HALF = Autocast(torch.device("cpu"), "fp16")


class Steep(nn.Module):
    """A layer whose gradient is as large as its inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.layer(batch["x"])


def learner() -> Learner:
    torch.manual_seed(0)
    network = Steep()
    optimizer = torch.optim.AdamW(network.parameters(), lr=0.01)
    return Learner(network, optimizer, Objective("mean_squared_error"), precision=HALF, seed=0)


def rows(size: float) -> list[dict[str, np.ndarray]]:
    x = np.random.default_rng(1).normal(size=(8, 4)).astype(np.float32) * size
    return [{"x": x, "label": x.sum(axis=1), "row": np.arange(8)}]


def weights(pupil: Learner) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in pupil.network.parameters()]


def test_a_step_that_overflows_changes_nothing_and_halves_the_factor() -> None:
    pupil = learner()
    before, factor = weights(pupil), pupil.numbers()["factor"]
    result = pupil.step(rows(5.0), step=0, factor=1.0)
    assert result.gradient_norm == 0.0
    assert math.isfinite(result.loss)
    assert pupil.numbers()["factor"] == factor / 2
    assert all(torch.equal(one, other) for one, other in zip(before, weights(pupil), strict=True))


def test_after_some_steps_the_factor_fits_and_the_gradient_is_that_of_float32() -> None:
    pupil = learner()
    results = [pupil.step(rows(5.0), step=step, factor=0.0) for step in range(14)]
    expected = Steep()
    expected.load_state_dict(pupil.network.state_dict())
    batch = {name: torch.tensor(array) for name, array in rows(5.0)[0].items()}
    nn.functional.mse_loss(expected(batch).squeeze(1), batch["label"]).backward()
    norm = torch.nn.utils.get_total_norm([p.grad for p in expected.parameters() if p.grad is not None])
    assert results[0].gradient_norm == 0.0
    assert results[-1].gradient_norm == pytest.approx(float(norm), rel=0.01)


def test_a_gradient_too_small_for_float16_is_kept() -> None:
    pupil = learner()
    with torch.no_grad():
        for parameter in pupil.network.parameters():
            parameter.zero_()
    small = np.full((8, 4), 1e-4, np.float32)  # gradients of 2e-8, where float16 ends at 6e-8
    pupil.step([{"x": small, "label": small[:, 0], "row": np.arange(8)}], step=0, factor=1.0)
    assert weights(pupil)[0].abs().min() > 0.0


def test_what_is_no_number_without_a_factor_too_is_a_bad_step() -> None:
    pupil = learner()
    bad = [{**rows(1.0)[0], "label": np.full(8, np.nan, np.float32)}]
    with pytest.raises(BadStep):
        _ = [pupil.step(bad, step=step, factor=1.0) for step in range(40)]


def test_a_run_stopped_between_overflows_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole = learner()
    for step in range(14):
        whole.step(rows(5.0), step=step, factor=1.0)
    first = learner()
    for step in range(5):
        first.step(rows(5.0), step=step, factor=1.0)
    snapshot(first).write(tmp_path)
    second = learner()
    read_learner(second, tmp_path)
    for step in range(5, 14):
        second.step(rows(5.0), step=step, factor=1.0)
    assert second.numbers() == whole.numbers()
    assert all(torch.equal(one, other) for one, other in zip(weights(whole), weights(second), strict=True))


def test_the_factor_doubles_after_many_steps_without_overflow() -> None:
    scale = LossScale(is_used=True)
    first = scale.factor
    assert not any(scale.is_overflow(1.0) for _ in range(2000))
    assert scale.factor == 2 * first


def test_other_precisions_have_no_factor() -> None:
    scale = LossScale(is_used=False)
    loss = torch.tensor(3.0)
    assert scale.lifted(loss) is loss
    assert not scale.is_overflow(math.nan)
    assert scale.state() == {}
