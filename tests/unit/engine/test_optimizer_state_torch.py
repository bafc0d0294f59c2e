"""Numbers that torch would take and fail with at a later step are refused when they are read."""

import copy
import json
from typing import Any

import pytest
import torch

from burnish.engine.snapshot_torch import refuse_other_state


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
