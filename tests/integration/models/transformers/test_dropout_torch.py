"""Lean dropout drops what plain dropout would: as often, independently, with the same mean, and repeatably."""

from collections.abc import Iterable

import numpy as np
import pytest
import torch
from torch import nn

from burnish.models.transformers.dropout_torch import LeanDropout, draw_bytes, lean_dropout, use_lean_dropout
from burnish.spec.noise import Noise, drawing, drawn_again

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


def test_noise_belongs_to_examples_and_not_to_batches() -> None:
    whole = dropped(range(8), (8, 3, 12, 10))
    assert torch.equal(dropped(range(2, 6), (4, 3, 12, 10)), whole[2:6])
    assert torch.equal(dropped([7, 0], (2, 3, 12, 10)), whole[[7, 0]])
    assert torch.equal(dropped(range(8), (24, 12, 10)), whole.flatten(0, 1))  # parts of an example, one after another
    assert torch.equal(dropped([3], (1, 3, 12, 10)), whole[3:4])


def test_noise_does_not_depend_on_padding() -> None:
    assert torch.equal(dropped(range(4), (4, 3, 20, 30))[:, :, :7, :9], dropped(range(4), (4, 3, 7, 9)))


@pytest.mark.parametrize("shape", [(2, 64, 384), (2, 12, 90, 90), (2, 4_000)])
def test_noise_of_examples_steps_draws_and_places_is_independent(shape: tuple[int, ...]) -> None:
    drawn = [dropped([first, first + 1], shape, step=step) for first in (0, 2, 2**20) for step in (0, 1)]
    drawn += [dropped([0, 1], shape, seed=1), dropped([0, 1], shape, draw=1)]
    flat = torch.stack([part.flatten() for each in drawn for part in each]).float() - 0.5
    allowed = 5 / flat.shape[1] ** 0.5
    assert float((torch.corrcoef(flat) - torch.eye(len(flat))).abs().max()) < allowed
    assert float(flat.mean(dim=1).abs().max()) < allowed
    for lag in (1, 2, 3, 4, 5, 90, 96, 384):
        assert float((flat[:, lag:] * flat[:, :-lag]).mean(dim=1).abs().max() * 4) < allowed


def test_every_byte_is_as_likely_as_any_other() -> None:
    with drawing(Noise(np.arange(64), seed=3, step=5)):
        drawn, _ = draw_bytes((64, 128, 384), 0.1)
    counts = torch.bincount(drawn.flatten().int() + 128, minlength=256).double()
    expected = drawn.numel() / 256
    assert float(((counts - expected) ** 2 / expected).sum()) < 255 + 5 * (2 * 255) ** 0.5


def test_a_layer_that_is_computed_twice_drops_the_same_again() -> None:
    values = torch.ones(4, 1_000)
    with drawing(Noise(np.arange(4), seed=0, step=0)):
        first, again = drawn_again()
        with first:
            once = lean_dropout(values, 0.5)
        after = lean_dropout(values, 0.5)
        with again:
            assert torch.equal(lean_dropout(values, 0.5), once)
        assert not torch.equal(lean_dropout(values, 0.5), after)
    with drawing(Noise(np.arange(4), seed=0, step=0)):
        assert torch.equal(lean_dropout(values, 0.5), once)
        assert torch.equal(lean_dropout(values, 0.5), after)


def dropped(
    examples: Iterable[int], shape: tuple[int, ...], *, seed: int = 0, step: int = 0, draw: int = 0
) -> torch.Tensor:
    with drawing(Noise(np.array([*examples]), seed=seed, step=step)):
        return [lean_dropout(torch.ones(shape), 0.5) == 0 for _ in range(draw + 1)][-1]


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
