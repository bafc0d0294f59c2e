"""FTRL against the published formula, and two optimizers that act as one."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from burnish.errors import ConfigError
from burnish.optim.optimizers import AdaGrad, AdamW, Ftrl, Lion, Split
from burnish.spec.protocols import Optimizer


def published_ftrl(gradients: np.ndarray, *, alpha: float, beta: float, l1: float, l2: float) -> np.ndarray:
    """Follow FTRL-Proximal as first published for click prediction, one weight after the other, from zero."""
    weights = np.zeros(gradients.shape[1])
    z, n = np.zeros_like(weights), np.zeros_like(weights)
    for step in gradients:
        for i, g in enumerate(step):
            sigma = (np.sqrt(n[i] + g * g) - np.sqrt(n[i])) / alpha
            z[i] += g - sigma * weights[i]
            n[i] += g * g
            if abs(z[i]) <= l1:
                weights[i] = 0.0
            else:
                weights[i] = -(z[i] - np.sign(z[i]) * l1) / ((beta + np.sqrt(n[i])) / alpha + l2)
    return weights


def stepped(component: Any, gradients: np.ndarray, *, start: Any = None, factors: Any = None) -> np.ndarray:
    weight = torch.nn.Parameter(torch.zeros(gradients.shape[1], dtype=torch.float64) if start is None else start)
    group = {"params": [weight], "lr": component.learning_rate, "weight_decay": 0.0, "name": "wide, decay"}
    optimizer = component.build(None, [group])
    for number, gradient in enumerate(gradients):
        optimizer.param_groups[0]["lr"] = component.learning_rate * (1.0 if factors is None else factors[number])
        weight.grad = torch.tensor(gradient)
        optimizer.step()
    return weight.detach().numpy()


@given(
    seed=st.integers(0, 2**32 - 1),
    alpha=st.floats(0.01, 2),
    beta=st.floats(0.01, 2),
    l1=st.sampled_from([0.0, 0.1, 1.0]),
    l2=st.sampled_from([0.0, 0.5]),
)
def test_ftrl_equals_the_published_formula(seed: int, alpha: float, beta: float, l1: float, l2: float) -> None:
    gradients = np.random.default_rng(seed).normal(size=(12, 5))
    ours = stepped(Ftrl(learning_rate=alpha, beta=beta, l1=l1, l2=l2), gradients)
    expected = published_ftrl(gradients, alpha=alpha, beta=beta, l1=l1, l2=l2)
    np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12)


def test_a_penalty_leaves_exact_zeros() -> None:
    gradients = np.array([[0.1, 3.0], [-0.1, 2.0]])
    assert stepped(Ftrl(l1=0.5), gradients)[0] == 0.0
    assert stepped(Ftrl(l1=0.5), gradients)[1] < 0


def test_without_penalties_ftrl_takes_adagrads_steps_from_anywhere() -> None:
    gradients = np.random.default_rng(0).normal(size=(6, 3))
    start = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    ours = stepped(Ftrl(learning_rate=0.3, beta=0.0), gradients, start=start.clone())
    theirs = stepped(AdaGrad(learning_rate=0.3, initial=0.0), gradients, start=start.clone())
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_a_falling_rate_moves_no_weight_without_a_gradient() -> None:
    gradients = np.concatenate([np.ones((3, 2)), np.zeros((3, 2))])
    early = stepped(Ftrl(), gradients[:3])
    late = stepped(Ftrl(), gradients, factors=[1, 1, 1, 0.5, 0.1, 0.0])
    np.testing.assert_allclose(late, early, rtol=1e-12)


def parameters() -> dict[str, torch.nn.Parameter]:
    random = np.random.default_rng(0)
    shapes = {"wide": (7, 2), "wide bias": (2,), "deep": (3, 4)}
    return {name: torch.nn.Parameter(torch.tensor(random.normal(size=shape))) for name, shape in shapes.items()}


def groups(params: dict[str, torch.nn.Parameter], split: Split) -> list[dict[str, Any]]:
    decay = {"wide": 1.0, "wide bias": 0.0, "deep": 1.0}
    return [
        {"params": [param], "lr": split.learning_rate, "weight_decay": split.weight_decay * decay[name], "name": name}
        for name, param in params.items()
    ]


def run(optimizer: Any, params: dict[str, torch.nn.Parameter], steps: range) -> None:
    for number in steps:
        random = np.random.default_rng(number)
        for param in params.values():
            param.grad = torch.tensor(random.normal(size=tuple(param.shape)))
        optimizer.step()


SPLITS = [
    Split(wide=Ftrl(l1=0.1), deep=AdamW(learning_rate=0.01, weight_decay=0.3)),
    Split(wide=AdaGrad(weight_decay=0.2), deep=Lion()),
]


@pytest.mark.parametrize("split", SPLITS, ids=["ftrl and adamw", "adagrad and lion"])
def test_each_part_steps_as_it_would_alone(split: Split) -> None:
    together, alone = parameters(), parameters()
    optimizer = split.build(None, groups(together, split))
    run(optimizer, together, range(4))
    for names, part in ((("wide", "wide bias"), split.wide), (("deep",), split.deep)):
        own = [
            {**group, "lr": part.learning_rate, "weight_decay": part.weight_decay * group["weight_decay"]}
            for group in groups(alone, split)
            if group["name"] in names
        ]
        single = part.build(None, own)
        for number in range(4):
            random = np.random.default_rng(number)
            for param in alone.values():
                param.grad = torch.tensor(random.normal(size=tuple(param.shape)))
            single.step()
    for name, param in together.items():
        assert torch.equal(param, alone[name])


@pytest.mark.parametrize("split", SPLITS, ids=["ftrl and adamw", "adagrad and lion"])
def test_a_split_that_was_saved_goes_on_to_the_same_bits(split: Split) -> None:
    straight, resumed = parameters(), parameters()
    run(split.build(None, groups(straight, split)), straight, range(6))
    first = split.build(None, groups(resumed, split))
    run(first, resumed, range(3))
    second = split.build(None, groups(resumed, split))
    second.load_state_dict(first.state_dict())
    run(second, resumed, range(3, 6))
    for name, param in straight.items():
        assert torch.equal(param, resumed[name])


def test_rates_set_from_outside_reach_the_parts() -> None:
    params, split = parameters(), SPLITS[0]
    optimizer = split.build(None, groups(params, split))
    before = {name: param.detach().clone() for name, param in params.items()}
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    run(optimizer, params, range(2))
    assert all(torch.equal(before[name], param) for name, param in params.items())


def test_a_model_without_a_wide_part_is_refused() -> None:
    params = {"deep": parameters()["deep"]}
    with pytest.raises(ConfigError, match="wide part"):
        SPLITS[0].build(None, groups(params, SPLITS[0]))


def test_a_split_is_an_optimizer() -> None:
    assert isinstance(SPLITS[0], Optimizer)
