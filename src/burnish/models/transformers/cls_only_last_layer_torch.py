"""Spares the last layer what nobody reads: a classifier looks at its first token alone."""

from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from burnish.models.transformers.attention_torch import LEAN

_KNOWN_ATTENTION = (LEAN, "sdpa")
_TOLERANCE = 1e-4


def answer_from_first_token(model: PreTrainedModel) -> bool:
    """Let the last layer compute its first token alone, where the logits are the same; tell whether they are.

    The other tokens are still seen, as keys and values. What is saved is most of one layer.
    """
    layer = _last_layer(model)
    if layer is None or model.config._attn_implementation not in _KNOWN_ATTENTION:
        return False
    expected = _logits(model)
    layer.forward = MethodType(_forward, layer)  # in the same module, so that names of weights stay
    given = _logits(model)
    is_same = given.shape == expected.shape and torch.allclose(given, expected, atol=_TOLERANCE, rtol=_TOLERANCE)
    if not is_same:
        del layer.forward
    return is_same


def _forward(layer: Any, hidden: Tensor, attention_mask: Tensor | None = None, *_: Any, **__: Any) -> Tensor:
    """Do what a layer of BERT's kind does, for the first token."""
    seeing, first = layer.attention.self, hidden[:, :1]
    attend = ALL_ATTENTION_FUNCTIONS[seeing.config._attn_implementation]
    seen, _weights = attend(
        seeing,
        _heads(seeing.query(first), seeing),
        _heads(seeing.key(hidden), seeing),
        _heads(seeing.value(hidden), seeing),
        None if attention_mask is None else attention_mask[:, :, :1],
        dropout=seeing.dropout.p if seeing.training else 0.0,
        scaling=seeing.scaling,
    )
    attended = layer.attention.output(seen.reshape(*first.shape[:-1], -1), first)
    if torch.is_inference_mode_enabled() and attended.shape[0] == 1:
        # The product of a single row with a matrix is rounded differently.
        attended = attended.expand(2, -1, -1)
    answer: Tensor = layer.feed_forward_chunk(attended)
    return answer[: first.shape[0]]  # `len` would make the rows of an exported graph a fixed number


def _heads(values: Tensor, seeing: Any) -> Tensor:
    return values.view(*values.shape[:-1], -1, seeing.attention_head_size).transpose(1, 2)


def _last_layer(model: PreTrainedModel) -> nn.Module | None:
    """Find the last layer if it is built as BERT's are and sees the past and the future alike."""
    layers = getattr(getattr(model.base_model, "encoder", None), "layer", None)
    if not isinstance(layers, nn.ModuleList) or not len(layers):
        return None
    layer = layers[-1]
    seeing = getattr(getattr(layer, "attention", None), "self", None)
    parts = ("query", "key", "value", "dropout", "scaling", "attention_head_size")
    is_known = all(hasattr(seeing, name) for name in parts) and hasattr(layer, "feed_forward_chunk")
    return layer if is_known and not getattr(model.config, "is_decoder", False) else None


@torch.inference_mode()
def _logits(model: PreTrainedModel) -> Tensor:
    """Answer two made-up texts, one of them padded, as an evaluation would."""
    was_training = model.training
    model.eval()  # type: ignore[no-untyped-call]  # transformers leaves it untyped
    ids = torch.arange(2 * 7).view(2, 7) % model.config.vocab_size
    mask = torch.ones_like(ids)
    mask[1, 4:] = 0
    logits: Tensor = model(input_ids=ids, attention_mask=mask).logits
    model.train(was_training)
    return logits
