"""Attention for training on a CPU: plain products with lean dropout; the fused kernel wherever nothing is dropped."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask

from burnish.models.dropout_torch import lean_dropout

LEAN = "burnish_lean"
"""The name under which `transformers` finds it."""


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
    scores = torch.matmul(query * (scaling or query.size(-1) ** -0.5), key.transpose(2, 3))
    if attention_mask is not None:
        scores = scores + attention_mask
    weights = lean_dropout(scores.softmax(dim=-1), dropout)
    return torch.matmul(weights, value).transpose(1, 2).contiguous(), weights


def _is_special(module: nn.Module, options: Mapping[str, Any]) -> bool:
    """Tell whether scores are shaped by more than a mask, as in grouped heads, capped scores, biases or sinks."""
    if getattr(module, "num_key_value_groups", 1) > 1:
        return True
    return any(options.get(name) is not None for name in ("softcap", "position_bias", "s_aux"))


def _is_cpu_only() -> bool:
    return torch.accelerator.current_accelerator(check_available=True) is None


AttentionInterface.register(LEAN, lean_attention)
AttentionMaskInterface.register(LEAN, eager_mask)
