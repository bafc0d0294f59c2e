"""Dropout whose masks cost little on a CPU, and belong to examples instead of to batches.

A byte decides over each element. It is a function of seed, step, example, draw and place in the example, so that noise
does not depend on padding, on how a batch is cut, or on how many processes share it.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor, nn
from torch.nn import functional

from burnish.spec.noise import Noise, current_noise

_LEVELS = 256
_ODD = (-1640531535, 374761393, -2048144777, -1028477379, 668265263, 1181783497)
"""What a step along each dimension adds to a place, the last one first."""
_MIX = (2146121005, -2073254261)


class LeanDropout(nn.Dropout):
    """Drop elements at random, like `nn.Dropout`, for a fraction of its price on a CPU."""

    def forward(self, values: Tensor) -> Tensor:
        """Drop while training; give everything back otherwise."""
        return lean_dropout(values, self.p) if self.training else values


def lean_dropout(values: Tensor, p: float) -> Tensor:
    """Zero each element with probability `p` and scale the rest to keep the mean."""
    if p <= 0.0:
        return values
    if values.device.type != "cpu" or p > 1.0 - 1.0 / _LEVELS:
        return functional.dropout(values, p=p)  # accelerators draw in parallel; and a byte cannot say "nearly all"
    kept = torch.empty_like(values, requires_grad=False)
    drawn, level = draw_bytes(values.shape, p)
    torch.ge(drawn, level, out=kept)
    return values * kept.mul_(1.0 / (1.0 - p))


def use_lean_dropout(network: nn.Module) -> None:
    """Put lean dropout in the place of every plain one in a network."""
    for module in network.modules():
        for name, child in module.named_children():
            if type(child) is nn.Dropout:
                setattr(module, name, LeanDropout(child.p))


def draw_bytes(shape: Sequence[int], p: float) -> tuple[Tensor, int]:
    """Draw a byte for each element, and give the least one, as signed, whose element is kept.

    The first dimension is that of the examples, or of several parts of each, one example after another. Anything else
    is drawn as a whole. Outside of a learner's step the draws follow torch's generator.
    """
    noise = current_noise()
    word = int(torch.empty((), dtype=torch.int64).random_()) if noise is None else noise.draw()
    keys, places = _keys(noise, shape)
    signed = (word & 0xFFFFFFFF) - 2**31
    mixed = (keys + signed).view(-1, *[1] * len(places)) ^ _numbered(places)
    mixed.bitwise_xor_(mixed >> 16).mul_(_MIX[0]).bitwise_xor_(mixed >> 15).mul_(_MIX[1])
    mixed.add_(mixed >> 16)  # int32 shifts its sign along, so that xor would clear the highest bit
    # A byte knows only 256 levels: the level is rounded up or down at random, so that each element has exactly `p`.
    levels = p * _LEVELS
    level = int(levels) + ((word >> 32) % 2**24 < (levels % 1) * 2**24)
    return mixed.view(torch.int8)[..., : places[-1]].reshape(shape), level - _LEVELS // 2


def _keys(noise: Noise | None, shape: Sequence[int]) -> tuple[Tensor, tuple[int, ...]]:
    """Give a key for each example, and the shape of what belongs to one."""
    if noise is None or shape[0] == 1 != len(noise.keys):
        return torch.zeros(1, dtype=torch.int32), (*shape,)
    keys = torch.from_numpy(noise.keys)
    if shape[0] % len(keys):
        return keys[:1], (*shape,)
    return keys, (shape[0] // len(keys), *shape[1:])


@lru_cache(maxsize=16)  # of a small network this is a third of what dropout costs
def _numbered(shape: tuple[int, ...]) -> Tensor:
    """Number places, four to one number, so that a longer example has those of a shorter one and more."""
    *others, last = shape
    numbers = torch.arange(math.ceil(last / 4), dtype=torch.int32) * _ODD[0]
    for dimension, size in enumerate(reversed(others), 1):
        steps = torch.arange(size, dtype=torch.int32) * _ODD[dimension]
        numbers = steps.view(-1, *[1] * dimension) + numbers
    return numbers
