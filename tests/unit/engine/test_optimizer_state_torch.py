"""Numbers that torch would take and fail with at a later step are refused when they are read."""

import copy
import json
from typing import Any

import pytest
import torch

from burnish.engine.snapshot_torch import refuse_other_state
from burnish.optim.optimizers import Ftrl, Lamb, Lion


def saved_state(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Give its groups as they come out of a file."""
    return {"param_groups": json.loads(json.dumps(optimizer.state_dict()["param_groups"])), "state": {}}


@pytest.fixture
def adam() -> torch.optim.Optimizer:
    return torch.optim.AdamW([torch.nn.Parameter(torch.zeros(2))], lr=0.1)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("eps", value) for value in (None, "1e-8", True, float("nan"), float("inf"), -1e-8, [1e-8], 10**400)),
        *(("lr", value) for value in (None, -0.1)),
        *(("betas", value) for value in (None, [0.9], [0.9, None], [0.9, 1.5], [-0.1, 0.9])),
        ("foreach", 2),
    ],
)
def test_an_option_of_another_kind_is_refused(adam: torch.optim.Optimizer, option: str, value: object) -> None:
    state = copy.deepcopy(saved_state(adam))
    state["param_groups"][0][option] = value
    with pytest.raises(ValueError, match=f"its option {option} is"):
        refuse_other_state(state, adam)


@pytest.mark.parametrize(
    "build",
    [torch.optim.Adafactor, torch.optim.SGD, torch.optim.Adagrad, torch.optim.AdamW],
    ids=lambda each: each.__name__,
)
def test_what_an_optimizer_wrote_is_taken(build: type[torch.optim.Optimizer]) -> None:
    optimizer = build([torch.nn.Parameter(torch.zeros(2))])
    refuse_other_state(saved_state(optimizer), optimizer)


@pytest.mark.parametrize("build", [Lamb(), Lion(), Ftrl()], ids=lambda each: type(each).__name__)
def test_the_state_of_our_own_optimizers_is_checked_too(build: Any) -> None:
    weight = torch.nn.Parameter(torch.ones(2, 3))
    optimizer = build.build(torch.nn.Module(), [{"params": [weight], "lr": 0.1, "weight_decay": 0.0}])
    weight.grad = torch.ones(2, 3)
    optimizer.step()
    state = optimizer.state_dict()
    refuse_other_state(json_like(state), optimizer)
    name = next(name for name, value in state["state"][0].items() if isinstance(value, torch.Tensor))
    odd = json_like(state)
    odd["state"][0][name] = torch.ones(7)
    with pytest.raises(ValueError, match=f"0/{name} is not the state of a weight"):
        refuse_other_state(odd, optimizer)


def json_like(state: dict[str, Any]) -> dict[str, Any]:
    """Write its groups to a file and read them back; tensors stay."""
    return {
        "param_groups": json.loads(json.dumps(state["param_groups"])),
        "state": {index: dict(values) for index, values in state["state"].items()},
    }
