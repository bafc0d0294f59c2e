"""Attention for training on a CPU: products in blocks with lean dropout; the fused kernel where nothing is dropped."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import bidirectional_mask_function, eager_mask

from burnish.models.transformers.blocked_attention_torch import blocked_attention
from burnish.models.transformers.dropout_torch import lean_dropout

LEAN = "burnish_lean"
"""The name under which `transformers` finds it."""
_NEARLY_ALL = 0.99
"""A byte for each score cannot tell apart what drops more than that."""


def asked_of_transformers(attention: str) -> str | None:
    """Give what to ask of `transformers` when it builds a model; None leaves it to take sdpa where the model can."""
    return None if attention == "auto" else attention


def settle_attention(model: PreTrainedModel, attention: str) -> None:
    """Put lean attention into a model that left the choice to us, has the fused kernel, and stays on the CPU."""
    is_sdpa = model.config._attn_implementation == "sdpa"
    if attention == "auto" and is_sdpa and _is_cpu_only() and model._can_set_attn_implementation():
        model.set_attn_implementation(LEAN)


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


def _fits_blocks(query: Tensor, mask: Tensor | None) -> bool:
    """Tell whether blocks are known to be right: in float32 throughout, on a CPU, one mask for all heads."""
    is_plain = query.dtype == torch.float32 and query.device.type == "cpu" and not torch.is_autocast_enabled("cpu")
    return is_plain and (mask is None or (mask.ndim == 4 and mask.shape[:2] == (query.shape[0], 1)))


def _is_special(module: nn.Module, options: Mapping[str, Any]) -> bool:
    """Tell whether scores are shaped by more than a mask, as in grouped heads, capped scores, biases or sinks."""
    if getattr(module, "num_key_value_groups", 1) > 1:
        return True
    return any(options.get(name) is not None for name in ("softcap", "position_bias", "s_aux"))


def _is_cpu_only() -> bool:
    return torch.accelerator.current_accelerator(check_available=True) is None


AttentionInterface.register(LEAN, lean_attention)
AttentionMaskInterface.register(LEAN, lean_mask)
