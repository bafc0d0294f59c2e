"""Optimizers: ours against plain numpy, torch's by their options, all of them resumable from plain numbers."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from burnish.optim.optimizers import Adafactor, AdaGrad, Adam, AdamW, Ftrl, Lamb, Lion, Sgd
from burnish.spec.protocols import Optimizer

ALL = [AdamW(), Adam(), Adafactor(), Sgd(), Lamb(), Lion(), AdaGrad(), Ftrl(l1=0.01, l2=0.1)]


def _name(component: Any) -> str:
    return type(component).__name__


def _groups(weight: torch.Tensor, bias: torch.Tensor) -> list[dict[str, Any]]:
    return [
        {"params": [weight], "lr": 0.1, "weight_decay": 0.3, "name": "decay"},
        {"params": [bias], "lr": 0.05, "weight_decay": 0.0, "name": "no decay"},
    ]


def _start() -> tuple[torch.nn.Parameter, torch.nn.Parameter]:
    random = np.random.default_rng(0)
    weight, bias = random.normal(size=(3, 4)), random.normal(size=4)
    return torch.nn.Parameter(torch.tensor(weight)), torch.nn.Parameter(torch.tensor(bias))


def _gradients(num_steps: int) -> list[tuple[np.ndarray, np.ndarray]]:
    random = np.random.default_rng(1)
    return [(random.normal(size=(3, 4)), random.normal(size=4)) for _ in range(num_steps)]


def _run(optimizer: Any, params: tuple[torch.nn.Parameter, ...], gradients: Any) -> None:
    for step in gradients:
        for param, gradient in zip(params, step, strict=True):
            param.grad = torch.tensor(gradient)
        optimizer.step()


def _lamb(weight: np.ndarray, gradients: list[np.ndarray], *, lr: float, decay: float) -> np.ndarray:
    weight = weight.copy()
    mean, square = np.zeros_like(weight), np.zeros_like(weight)
    for step, gradient in enumerate(gradients, start=1):
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        update = (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-6) + decay * weight
        ratio = np.linalg.norm(weight) / np.linalg.norm(update) if weight.ndim > 1 else 1.0
        weight -= lr * ratio * update
    return weight


def _lion(weight: np.ndarray, gradients: list[np.ndarray], *, lr: float, decay: float) -> np.ndarray:
    weight, momentum = weight.copy(), np.zeros_like(weight)
    for gradient in gradients:
        weight -= lr * (np.sign(0.9 * momentum + 0.1 * gradient) + decay * weight)
        momentum = 0.99 * momentum + 0.01 * gradient
    return weight


@pytest.mark.parametrize(("component", "reference"), [(Lamb(), _lamb), (Lion(), _lion)], ids=["Lamb", "Lion"])
def test_our_own_optimizers_equal_a_plain_reference(component: Any, reference: Any) -> None:
    params, gradients = _start(), _gradients(5)
    starts = [param.detach().numpy().copy() for param in params]
    _run(component.build(None, _groups(*params)), params, gradients)
    rates = [(0.1, 0.3), (0.05, 0.0)]
    for which, (param, start, (lr, decay)) in enumerate(zip(params, starts, rates, strict=True)):
        expected = reference(start, [step[which] for step in gradients], lr=lr, decay=decay)
        np.testing.assert_allclose(param.detach().numpy(), expected, rtol=1e-12)


def test_lamb_moves_a_matrix_of_zeros() -> None:
    weight = torch.nn.Parameter(torch.zeros(2, 2))
    optimizer = Lamb().build(None, [{"params": [weight], "lr": 0.1, "weight_decay": 0.0}])
    weight.grad = torch.ones(2, 2)
    optimizer.step()
    torch.testing.assert_close(weight.detach(), torch.full((2, 2), -0.1), rtol=1e-4, atol=0)


@pytest.mark.parametrize("component", ALL, ids=_name)
def test_a_run_resumed_from_tensors_and_json_is_bit_equal(component: Any) -> None:
    straight, resumed, gradients = _start(), _start(), _gradients(6)
    _run(component.build(None, _groups(*straight)), straight, gradients)
    first = component.build(None, _groups(*resumed))
    _run(first, resumed, gradients[:3])
    second = component.build(None, _groups(*resumed))
    second.load_state_dict(_through_json(first.state_dict()))
    _run(second, resumed, gradients[3:])
    for one, other in zip(straight, resumed, strict=True):
        assert torch.equal(one, other)


def _through_json(state: dict[str, Any]) -> dict[str, Any]:
    """Carry everything but tensors through JSON, and refuse what is neither."""
    entries = {
        index: {
            name: value.clone() if isinstance(value, torch.Tensor) else json.loads(json.dumps(value))
            for name, value in entry.items()
        }
        for index, entry in state["state"].items()
    }
    return {"state": entries, "param_groups": json.loads(json.dumps(state["param_groups"]))}


@pytest.mark.parametrize("component", ALL, ids=_name)
def test_every_optimizer_keeps_the_groups_rates_and_lowers_a_loss(component: Any) -> None:
    assert isinstance(component, Optimizer)
    weight, bias = _start()
    groups = _groups(weight, bias)
    optimizer = component.build(None, groups)
    assert [(group["lr"], group["weight_decay"]) for group in optimizer.param_groups] == [(0.1, 0.3), (0.05, 0.0)]
    assert set(groups[0]) == {"params", "lr", "weight_decay", "name"}  # the caller's groups stay as they were
    before = float(weight.detach().norm() + bias.detach().norm())
    for _ in range(5):
        optimizer.zero_grad()
        loss = (weight**2).sum() + (bias**2).sum()
        loss.backward()
        optimizer.step()
    assert float(weight.detach().norm() + bias.detach().norm()) < before


def test_adamw_is_fused_where_it_can_be() -> None:
    assert AdamW().build(None, _groups(*_start())).param_groups[0]["fused"] is True


def test_fused_adamw_equals_the_plain_one() -> None:
    params, plain, gradients = _start(), _start(), _gradients(4)
    _run(AdamW().build(None, _groups(*params)), params, gradients)
    _run(torch.optim.AdamW(_groups(*plain), foreach=False, fused=False), plain, gradients)
    for one, other in zip(params, plain, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)


def test_nesterov_without_momentum_is_refused() -> None:
    with pytest.raises(ValidationError, match="needs `momentum` above 0 for `nesterov`"):
        Sgd(momentum=0, nesterov=True)


@pytest.mark.parametrize("bad", [{"learning_rate": 0}, {"betas": (1.0, 0.9)}, {"weight_decay": -1}, {"epsilon": 0}])
def test_numbers_out_of_range_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AdamW(**bad)
