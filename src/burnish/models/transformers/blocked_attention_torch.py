"""Attention with dropout for a CPU, a block at a time: scores are used up while they are in the cache."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from burnish.models.transformers.dropout_torch import kept_level, random_bytes

_BLOCK_ELEMENTS = 2**20
"""Four megabytes of scores: what a core has near, and many enough that Python's share is small."""


@dataclass(frozen=True)
class _Block:
    """Some examples with all heads, or some heads of one example: either way neighbours in memory."""

    examples: slice
    heads: slice
    flat: slice


def blocked_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, dropout: float) -> Tensor:
    """Attend with queries that are scaled already, [n, heads, length, size]; give [n, length, heads, size].

    The mask is added to the scores; it must be the same for all heads.
    """
    attended: Tensor = _Attention.apply(query, key, value, mask, dropout)  # type: ignore[no-untyped-call]  # torch leaves it untyped
    return attended


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(  # noqa: PLR0917  # torch calls it so
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float
    ) -> Tensor:
        """Keep the softmax and the bytes that were drawn: a fifth more than the softmax alone."""
        num, heads, length, _ = query.shape
        queries, keys, values = (tensor.contiguous().flatten(0, 1) for tensor in (query, key, value))
        shares = queries.new_empty(num * heads, length, keys.shape[1])
        drawn = random_bytes(shares.numel()).view(shares.shape) if dropout else None
        level = kept_level(dropout)
        attended = _by_token(query, value.shape[-1])
        for block in _blocks(shares.shape, heads):
            share = torch.bmm(queries[block.flat], keys[block.flat].mT, out=shares[block.flat])
            if mask is not None:
                share.view(-1, _count(block.heads), *share.shape[1:]).add_(mask[block.examples])
            torch._softmax(share, -1, False, out=share)
            kept = share if drawn is None else share * _kept(drawn[block.flat], level)
            seen = torch.bmm(kept, values[block.flat]).mul_(1.0 / (1.0 - dropout))
            attended[block.examples, block.heads] = seen.view(-1, _count(block.heads), *seen.shape[1:])
        ctx.save_for_backward(queries, keys, values, shares, drawn)
        ctx.heads, ctx.level, ctx.dropout = heads, level, dropout
        return attended.transpose(1, 2)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        """Go through the same blocks."""
        queries, keys, values, shares, drawn = ctx.saved_tensors
        heads = ctx.heads
        towards = gradient.transpose(1, 2)
        like = shares.new_empty(0).expand(shares.shape[0] // heads, heads, 0, 0)
        found = [_by_token(like, tensor.shape[-1], length=tensor.shape[1]) for tensor in (queries, keys, values)]
        for block in _blocks(shares.shape, heads):
            goal = towards[block.examples, block.heads].flatten(0, 1) * (1.0 / (1.0 - ctx.dropout))
            share, kept = shares[block.flat], None if drawn is None else _kept(drawn[block.flat], ctx.level)
            to_values = torch.bmm((share if kept is None else share * kept).mT, goal)
            slope = torch.bmm(goal, values[block.flat].mT)
            slope = torch._softmax_backward_data(slope if kept is None else slope.mul_(kept), share, -1, slope.dtype)
            parts = (torch.bmm(slope, keys[block.flat]), torch.bmm(slope.mT, queries[block.flat]), to_values)
            for whole, part in zip(found, parts, strict=True):
                whole[block.examples, block.heads] = part.view(-1, _count(block.heads), *part.shape[1:])
        return found[0], found[1], found[2], None, None


def _blocks(shape: torch.Size, heads: int) -> Iterator[_Block]:
    """Cut [n · heads, length, length] into blocks of about the right size."""
    each = max(1, shape[1] * shape[2])
    if each * heads <= _BLOCK_ELEMENTS:
        step = _BLOCK_ELEMENTS // (each * heads)
        for start in range(0, shape[0] // heads, step):
            examples = slice(start, min(start + step, shape[0] // heads))
            yield _Block(examples, slice(0, heads), slice(examples.start * heads, examples.stop * heads))
        return
    step = max(1, _BLOCK_ELEMENTS // each)
    for example in range(shape[0] // heads):
        for start in range(0, heads, step):
            chosen = slice(start, min(start + step, heads))
            flat = slice(example * heads + chosen.start, example * heads + chosen.stop)
            yield _Block(slice(example, example + 1), chosen, flat)


def _by_token(like: Tensor, size: int, *, length: int | None = None) -> Tensor:
    """Make room for [n, heads, length, size] whose memory is in the order of tokens, as the layers around read it."""
    num, heads = like.shape[:2]
    return like.new_empty(num, length or like.shape[2], heads, size).transpose(1, 2)


def _kept(drawn: Tensor, level: int) -> Tensor:
    kept = torch.empty(drawn.shape, dtype=torch.float32)
    return torch.ge(drawn, level, out=kept)


def _count(chosen: slice) -> int:
    return int(chosen.stop - chosen.start)
