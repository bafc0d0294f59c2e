"""Dropout whose masks cost little on a CPU: eight elements share one draw of torch's generator."""

import torch
from torch import Tensor, nn
from torch.nn import functional

_LEVELS = 256
_LOWEST = -(2**63)


class LeanDropout(nn.Dropout):
    """Drop elements at random, like `nn.Dropout`, for a fraction of its price on a CPU."""

    def forward(self, values: Tensor) -> Tensor:
        """Drop while training; give everything back otherwise."""
        return lean_dropout(values, self.p) if self.training else values


def lean_dropout(values: Tensor, p: float) -> Tensor:
    """Zero each element with probability `p` and scale the rest to keep the mean; the draws are torch's own."""
    if p <= 0.0:
        return values
    if values.device.type != "cpu" or p > 1.0 - 1.0 / _LEVELS:
        return functional.dropout(values, p=p)  # accelerators draw in parallel; and a byte cannot say "nearly all"
    kept = torch.empty_like(values, requires_grad=False)
    torch.ge(random_bytes(values.numel()).view(values.shape), kept_level(p), out=kept)
    return values * kept.mul_(1.0 / (1.0 - p))


def use_lean_dropout(network: nn.Module) -> None:
    """Put lean dropout in the place of every plain one in a network."""
    for module in network.modules():
        for name, child in module.named_children():
            if type(child) is nn.Dropout:
                setattr(module, name, LeanDropout(child.p))


def random_bytes(number: int) -> Tensor:
    """Draw bytes from torch's generator, eight at a time."""
    words = torch.empty(-(-number // 8), dtype=torch.int64).random_(_LOWEST, None)
    return words.view(torch.int8)[:number]


def kept_level(p: float) -> int:
    """Return the least byte, as signed, whose element is kept."""
    # A byte knows only 256 levels: the level is rounded up or down at random, so that each element has exactly `p`.
    levels = p * _LEVELS
    whole = int(levels)
    rounded = whole + int(torch.rand(()).item() < levels - whole)
    return rounded - _LEVELS // 2
