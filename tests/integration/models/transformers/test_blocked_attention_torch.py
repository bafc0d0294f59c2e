"""Attention in blocks is attention: values, gradients, dropout."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.models.transformers import attention_torch
from burnish.models.transformers.attention_torch import blocked_attention

Parts = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def _parts(*, num: int = 3, heads: int = 4, queries: int = 7, keys: int = 7) -> Parts:
    draw = torch.Generator().manual_seed(5)
    sizes = (queries, keys, keys)
    made = [torch.randn(num, length, heads, 8, generator=draw).transpose(1, 2).requires_grad_() for length in sizes]
    return made[0], made[1], made[2]


def _mask(num: int, keys: int) -> torch.Tensor:
    lengths = torch.arange(num) % keys + 1
    is_hidden = torch.arange(keys) >= lengths[:, None]
    return is_hidden[:, None, None].float() * torch.finfo(torch.float32).min


@settings(max_examples=30, deadline=None)
@given(
    num=st.integers(1, 5), heads=st.integers(1, 4), keys=st.integers(1, 9), block=st.integers(1, 700), one=st.booleans()
)
def test_values_and_gradients_are_those_of_torchs_own_attention(
    num: int, heads: int, keys: int, block: int, one: bool
) -> None:
    mine = _parts(num=num, heads=heads, queries=1 if one else keys, keys=keys)
    theirs = [part.detach().clone().requires_grad_() for part in mine]
    mask = _mask(num, keys)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention_torch, "_BLOCK_ELEMENTS", block)
        given_values = blocked_attention(*mine, mask, dropout=0.0)
        given_values.sin().sum().backward()
    query, key, value = theirs
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, value, mask, scale=1.0).transpose(1, 2)
    expected.sin().sum().backward()
    torch.testing.assert_close(given_values, expected, atol=1e-5, rtol=1e-5)
    for part, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(part.grad, other.grad, atol=1e-5, rtol=1e-4)


def test_gradients_with_dropout_are_those_of_the_function_that_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention_torch, "_BLOCK_ELEMENTS", 100)
    query, key, value = _parts(num=2, heads=3, queries=6, keys=6)
    weights = torch.randn(2, 6, 3, 8, generator=torch.Generator().manual_seed(1))

    def loss(*parts: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(7)
        return (blocked_attention(*parts, None, dropout=0.4) * weights).sum()

    loss(query, key, value).backward()
    for place, part in enumerate((query, key, value)):
        step = torch.zeros_like(part)
        step[1, 2, 3, 4] = 1e-2
        moved = [tuple(p + sign * step * (n == place) for n, p in enumerate((query, key, value))) for sign in (1, -1)]
        slope = (loss(*moved[0]) - loss(*moved[1])) / 2e-2
        assert part.grad is not None
        torch.testing.assert_close(slope.detach(), part.grad[1, 2, 3, 4], atol=3e-4, rtol=3e-3)


def test_what_is_dropped_does_not_depend_on_the_size_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    outs = []
    for block in (1, 60, 10**6):
        monkeypatch.setattr(attention_torch, "_BLOCK_ELEMENTS", block)
        torch.manual_seed(3)
        outs.append(blocked_attention(*_parts(), None, dropout=0.5))
    torch.testing.assert_close(outs[0], outs[1])
    torch.testing.assert_close(outs[0], outs[2])


def test_the_share_that_is_dropped_is_the_one_asked_for() -> None:
    torch.manual_seed(0)
    zeros = torch.zeros(8, 2, 64, 4)
    seen = blocked_attention(zeros, zeros, torch.ones(8, 2, 64, 4), None, dropout=0.25)
    assert abs(float(seen.mean()) - 1.0) < 0.01
