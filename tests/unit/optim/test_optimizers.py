"""Optimizers: ours against plain numpy, torch's by their options, all of them resumable from plain numbers."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from burnish.errors import ConfigError
from burnish.optim.optimizers import Adafactor, AdaGrad, Adam, AdamW, AnyOfTorch, Ftrl, Lamb, Lion, RmsProp, Sgd
from burnish.spec.protocols import Optimizer

ALL = [
    AdamW(),
    Adam(),
    Adafactor(),
    Adafactor(relative_step=False, beta1=0.9),
    RmsProp(momentum=0.9, centered=True),
    Sgd(),
    Lamb(),
    Lion(),
    AdaGrad(),
    Ftrl(l1=0.01, l2=0.1),
    AnyOfTorch(name="RAdam", options={"decoupled_weight_decay": "true"}),
    AnyOfTorch(name="Muon", vectors=AdamW(learning_rate=1e-3)),
]


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


def _theirs(name: str, groups: list[dict[str, Any]], options: dict[str, Any]) -> torch.optim.Optimizer:
    if name == "transformers":
        from transformers.optimization import Adafactor as Theirs

        return Theirs(groups, **options)
    return getattr(torch.optim, name)(groups, **options)


SWITCHES = {"scale_parameter": False, "relative_step": False, "warmup_init": False, "beta1": 0.9}
PLAIN = {"lr": None, "clip_threshold": 2.0, "decay_rate": -0.7, "eps": (1e-30, 0.01)}


@pytest.mark.parametrize(
    ("ours", "name", "options"),
    [
        (RmsProp(), "RMSprop", {}),
        (RmsProp(alpha=0.8, momentum=0.5, centered=True), "RMSprop", {"alpha": 0.8, "momentum": 0.5, "centered": True}),
        (Adafactor(**SWITCHES), "transformers", {**SWITCHES, "lr": 0.1}),
        (
            Adafactor(warmup_init=True, clip_threshold=2, beta2_decay=-0.7, epsilon=0.01),
            "transformers",
            {**PLAIN, "warmup_init": True},
        ),
        (AnyOfTorch(name="RAdam"), "RAdam", {}),
        (AnyOfTorch(name="NAdam", options={"betas": ["0.8", "0.9"]}), "NAdam", {"betas": (0.8, 0.9)}),
        (AnyOfTorch(name="Adadelta", options={"rho": "0.5"}), "Adadelta", {"rho": 0.5}),
    ],
    ids=lambda each: str(each)[:30],
)
def test_an_optimizer_by_its_options_is_the_one_of_its_library(ours: Any, name: str, options: dict[str, Any]) -> None:
    params, expected, gradients = _start(), _start(), _gradients(5)
    _run(ours.build(None, _groups(*params)), params, gradients)
    _run(_theirs(name, _groups(*expected), options), expected, gradients)
    for one, other in zip(params, expected, strict=True):
        assert torch.equal(one, other)


def test_vectors_get_an_optimizer_and_a_rate_of_their_own() -> None:
    params, matrix, vector, gradients = _start(), _start()[0], _start()[1], _gradients(3)
    component = AnyOfTorch(name="Muon", learning_rate=0.1, vectors=Sgd(learning_rate=0.02))
    _run(component.build(None, _groups(*params)), params, gradients)
    _run(torch.optim.Muon([matrix], lr=0.1, weight_decay=0.3), (matrix,), [step[:1] for step in gradients])
    _run(torch.optim.SGD([vector], lr=0.01, momentum=0.9), (vector,), [step[1:] for step in gradients])
    assert torch.equal(params[0], matrix)
    assert torch.equal(params[1], vector)


@pytest.mark.parametrize(
    ("component", "sentence"),
    [
        (AnyOfTorch(name="Adamm"), r"optimizer.name: torch has no optimizer Adamm; it has ASGD, .*, SparseAdam"),
        (AnyOfTorch(name="RAdam", options={"rho": 1}), "torch's RAdam cannot be used here: .* unexpected .* 'rho'"),
        (AnyOfTorch(name="LBFGS"), "torch's LBFGS cannot be used here: .* 'closure'"),
        (AnyOfTorch(name="SparseAdam"), "torch's SparseAdam cannot be used here: .* dense gradients"),
        (AnyOfTorch(name="Muon"), "torch's Muon cannot be used here: .* 2D parameters"),
    ],
    ids=lambda each: str(each)[:20],
)
def test_what_torch_cannot_do_is_refused_before_the_first_step(component: Any, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        component.build(None, _groups(*_start()))


def test_options_have_one_place() -> None:
    with pytest.raises(ValidationError, match="write `learning_rate` and `weight_decay` one level up"):
        AnyOfTorch(name="RAdam", options={"lr": 1})


def test_weights_named_by_a_pattern_do_not_decay() -> None:
    network = torch.nn.ModuleDict({"body": torch.nn.Linear(2, 2), "head": torch.nn.Linear(2, 2)})
    groups = [{"params": [*network.parameters()], "lr": 0.1, "weight_decay": 0.3, "name": "all"}]
    made = AdamW(no_decay=("^head", "bias$")).build(network, groups)
    decays = {id(param): group["weight_decay"] for group in made.param_groups for param in group["params"]}
    named = {name: decays[id(param)] for name, param in network.named_parameters()}
    assert named == {"body.weight": 0.3, "body.bias": 0.0, "head.weight": 0.0, "head.bias": 0.0}
    with pytest.raises(ConfigError, match=r"no_decay: no weight is named like 'tail'; one is body\.weight"):
        AdamW(no_decay=("tail",)).build(network, groups)
    with pytest.raises(ValidationError, match="must be a regular expression"):
        AdamW(no_decay=("(",))


def test_nesterov_without_momentum_is_refused() -> None:
    with pytest.raises(ValidationError, match="needs `momentum` above 0 for `nesterov`"):
        Sgd(momentum=0, nesterov=True)


@pytest.mark.parametrize("bad", [{"learning_rate": 0}, {"betas": (1.0, 0.9)}, {"weight_decay": -1}, {"epsilon": 0}])
def test_numbers_out_of_range_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AdamW(**bad)
