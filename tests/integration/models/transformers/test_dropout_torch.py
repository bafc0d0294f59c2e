"""Lean dropout drops what plain dropout would: as often, independently, with the same mean, and repeatably."""

import pytest
import torch
from torch import nn

from burnish.models.transformers.dropout_torch import LeanDropout, lean_dropout, use_lean_dropout

MANY = 400_000


@pytest.mark.parametrize("p", [0.01, 0.1, 0.3, 0.5, 0.999])
def test_each_element_is_dropped_with_the_probability_asked_for(p: float) -> None:
    torch.manual_seed(0)
    dropped = torch.cat([lean_dropout(torch.ones(2_000), p) == 0 for _ in range(200)])
    # Four standard errors of independent draws, and of the two levels that a call is rounded to.
    allowed = 4 * ((p * (1 - p) / MANY) ** 0.5 + 1 / 256 / (2 * 200**0.5))
    assert abs(float(dropped.float().mean()) - p) < allowed


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_what_stays_is_scaled_and_so_is_its_gradient(dtype: torch.dtype) -> None:
    values = torch.ones(4_001, dtype=dtype, requires_grad=True)
    out = lean_dropout(values, 0.25)
    out.sum().backward()
    assert out.dtype == dtype
    assert set(out.detach().double().unique().tolist()) == {0.0, float(torch.tensor(1 / 0.75, dtype=dtype))}
    assert values.grad is not None
    assert torch.equal(values.grad, out.detach())


def test_neighbours_are_dropped_independently() -> None:
    torch.manual_seed(1)
    dropped = (lean_dropout(torch.ones(MANY), 0.5) == 0).float() - 0.5
    for lag in (1, 2, 7, 8, 9, 64):
        assert abs(float((dropped[lag:] * dropped[:-lag]).mean() * 4)) < 5 / MANY**0.5


def test_the_draws_are_those_of_torchs_generator() -> None:
    values = torch.randn(3, 1_001)
    outs = []
    for seed in (7, 7, 8):
        torch.manual_seed(seed)
        outs.append(lean_dropout(values, 0.1))
    assert torch.equal(outs[0], outs[1])
    assert not torch.equal(outs[0], outs[2])


def test_nothing_is_dropped_in_evaluation_or_with_probability_zero() -> None:
    values = torch.randn(64)
    assert LeanDropout(0.5).eval()(values) is values
    assert lean_dropout(values, 0.0) is values


def test_every_plain_dropout_of_a_network_is_replaced_and_nothing_else() -> None:
    network = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.3), nn.Sequential(nn.Dropout(0.2), nn.AlphaDropout(0.1)))
    names = list(network.state_dict())
    use_lean_dropout(network)
    kinds = [type(module) for module in network.modules()]
    assert kinds.count(LeanDropout) == 2
    assert kinds.count(nn.Dropout) == 0
    assert kinds.count(nn.AlphaDropout) == 1
    assert [module.p for module in network.modules() if isinstance(module, LeanDropout)] == [0.3, 0.2]
    assert list(network.state_dict()) == names


def test_a_mask_costs_less_processor_time_than_torchs() -> None:
    from time import process_time

    values = torch.randn(2_000_000)

    def seconds(plain: bool) -> float:
        began = process_time()
        for _ in range(3):
            nn.functional.dropout(values, 0.1) if plain else lean_dropout(values, 0.1)
        return process_time() - began

    ratios = sorted(seconds(False) / seconds(True) for _ in range(7))
    assert ratios[3] < 0.7
