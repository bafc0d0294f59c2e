"""Attention for training on a CPU: in blocks with lean dropout; the fused kernel where nothing is dropped."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import bidirectional_mask_function, eager_mask

from burnish.models.transformers.dropout_torch import draw_bytes, lean_dropout

LEAN = "burnish_lean"
"""The name under which `transformers` finds it."""
_NEARLY_ALL = 0.99
"""A byte for each score cannot tell apart what drops more than that."""


def asked_of_transformers(attention: str) -> str | None:
    """Return what to ask of `transformers` when it builds a model; None leaves it to take sdpa where the model can."""
    return None if attention == "auto" else attention


def settle_attention(model: PreTrainedModel, attention: str) -> None:
    """Put lean attention into a model that left the choice to us, has the fused kernel, and stays on the CPU."""
    is_sdpa = model.config._attn_implementation == "sdpa"
    if attention == "auto" and is_sdpa and auto_attention() == LEAN and model._can_set_attn_implementation():
        model.set_attn_implementation(LEAN)


def auto_attention() -> str:
    """Choose what suits this machine, for models that have the fused kernel."""
    return LEAN if torch.accelerator.current_accelerator(check_available=True) is None else "sdpa"


def lean_attention(  # noqa: PLR0917  # transformers calls it so
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    """Attend; takes and gives what every attention function of `transformers` does."""
    if dropout == 0.0 and torch.is_inference_mode_enabled() and not _is_special(module, options):
        lengths = _token_counts(attention_mask, key)
        if lengths is not None:
            return _attend_unpadded(query, key, value, lengths, scaling=scaling), None
    if dropout == 0.0 or _is_special(module, options):
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **options
        )
    # Scaling the queries is the same as scaling the scores, which are many more.
    query = query * (scaling or query.size(-1) ** -0.5)
    if dropout < _NEARLY_ALL and _fits_blocks(query, attention_mask):
        return blocked_attention(query, key, value, attention_mask, dropout=dropout), None
    scores = torch.matmul(query, key.transpose(2, 3))
    if attention_mask is not None:
        scores = scores + attention_mask
    weights = lean_dropout(scores.softmax(dim=-1), dropout)
    return torch.matmul(weights, value).transpose(1, 2).contiguous(), weights


def lean_mask(*, q_length: int, mask_function: Callable[..., Any], **options: Any) -> Tensor | None:
    """Make the mask to add: of one row where every token sees the same others, which is much less to read."""
    is_alike = mask_function is bidirectional_mask_function
    return eager_mask(q_length=1 if is_alike else q_length, mask_function=mask_function, **options)


def _token_counts(mask: Tensor | None, key: Tensor) -> Tensor | None:
    """Count the tokens of each row where padding follows them; None where a mask says anything else."""
    if mask is None or mask.shape != (key.shape[0], 1, 1, key.shape[2]) or mask.dtype == torch.bool:
        return None
    is_token = mask[:, 0, 0] == 0
    lengths = is_token.sum(dim=-1)
    is_right = (is_token == (torch.arange(mask.shape[-1], device=mask.device) < lengths[:, None])).all()
    return lengths if is_right else None


def _attend_unpadded(query: Tensor, key: Tensor, value: Tensor, lengths: Tensor, *, scaling: float | None) -> Tensor:
    """Attend within rows of one length at a time, so that no bit of an answer depends on what shares its batch.

    With padding, sums are taken in another order, which in bfloat16 moves probabilities by a thousandth.
    """
    num_rows, heads, width, size = query.shape
    found = query.new_zeros(num_rows, width, heads, size)
    for length in set(lengths.tolist()):
        rows = (lengths == length).nonzero()[:, 0]
        asked, seen, read = (each.index_select(0, rows)[:, :, :length] for each in (query, key, value))
        attended = nn.functional.scaled_dot_product_attention(asked, seen, read, scale=scaling)
        found[rows, :length] = attended.transpose(1, 2)
    return found


def _fits_blocks(query: Tensor, mask: Tensor | None) -> bool:
    """Check whether blocks are known to be right: in float32 throughout, on a CPU, one mask for all heads."""
    is_plain = query.dtype == torch.float32 and query.device.type == "cpu" and not torch.is_autocast_enabled("cpu")
    return is_plain and (mask is None or (mask.ndim == 4 and mask.shape[:2] == (query.shape[0], 1)))


def _is_special(module: nn.Module, options: Mapping[str, Any]) -> bool:
    """Check whether scores are shaped by more than a mask, as in grouped heads, capped scores, biases or sinks."""
    if getattr(module, "num_key_value_groups", 1) > 1:
        return True
    return any(options.get(name) is not None for name in ("softcap", "position_bias", "s_aux"))


AttentionInterface.register(LEAN, lean_attention)
AttentionMaskInterface.register(LEAN, lean_mask)


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
        drawn, level = draw_bytes((num, heads, *shares.shape[1:]), dropout) if dropout else (None, 0)
        drawn = None if drawn is None else drawn.flatten(0, 1)
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
