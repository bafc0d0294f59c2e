"""Random weights whose heads look at the tokens beside their own, so that a new encoder learns from context at once.

Drawn as usual, every head looks everywhere alike, and a hidden token shows nothing of its context: for thousands of
steps a model then learns only how often each token comes.
"""

import itertools
from typing import Any

import torch
from torch import Tensor

from burnish.models.transformers.layers_torch import find_layers
from burnish.models.transformers.locate_model import refusal

_SHARPNESS = 24.0
"""The logit of the place looked at, for a token that is all position."""
_FARTHEST = 4
_SLOWEST, _FASTEST = 0.2, 3.0
"""Radians a place: slow enough to tell far places apart, fast enough that neighbours are unlike."""


@torch.no_grad()
def look_at_neighbours(model: Any, *, mask_id: int | None) -> None:
    """Let positions begin as waves, and heads of the lower layers look one place back, one ahead, two back and so on.

    The upper layers begin as usual, so that a token that stands for the whole text, like BERT's first, sees all of it.
    """
    embeddings, layers = _parts(model)
    heads, width = model.config.num_attention_heads, model.config.hidden_size // model.config.num_attention_heads
    positions, words = embeddings.position_embeddings.weight, embeddings.word_embeddings.weight
    frequencies = torch.linspace(_SLOWEST, _FASTEST, width // 2)
    angles = torch.arange(len(positions))[:, None] * frequencies
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    positions.copy_(torch.nn.functional.pad(waves, (0, width - waves.shape[1])).repeat(1, heads) * 2 * words.std())
    if mask_id is not None:
        words[mask_id] = 0  # what is hidden says nothing, and leaves room for what stands beside it
    places = itertools.cycle([side * far for far in range(1, _FARTHEST + 1) for side in (-1, 1)])
    for layer in layers[: (len(layers) + 1) // 2]:
        _look(layer.attention, [next(places) for _ in range(heads)], frequencies, width=width)


def _parts(model: Any) -> tuple[Any, list[Any]]:
    layers = find_layers(model)[1]
    embeddings: Any = getattr(model, "embeddings", None)
    fits = hasattr(embeddings, "position_embeddings") and all(
        hasattr(getattr(getattr(layer, "attention", None), "self", None), "query") for layer in layers
    )
    if not fits or embeddings.position_embeddings.weight.shape[1] != model.config.hidden_size:
        raise refusal(
            f"model.start: neighbours is for encoders built like bert, with an embedding as wide as the model for each "
            f"position; this {model.config.model_type} is not; leave model.start out"
        )
    return embeddings, layers


def _look(attention: Any, places: list[int], frequencies: Tensor, *, width: int) -> None:
    """Add to random weights what turns a position into that of another place, and hands on what stands there."""
    inner = attention.self
    strength = (_SHARPNESS / width**0.5) ** 0.5
    for head, place in enumerate(places):
        own = slice(head * width, (head + 1) * width)
        inner.query.weight[own, own] += strength * _turn(place, frequencies, width=width)
        inner.key.weight[own, own] += strength * torch.eye(width)
    for linear in (inner.value, attention.output.dense):
        linear.weight += torch.eye(len(linear.weight))


def _turn(place: int, frequencies: Tensor, *, width: int) -> Tensor:
    """Return the matrix that makes the wave of a position that of the position so many places on."""
    matrix = torch.eye(width)
    for number, angle in enumerate((place * frequencies).tolist()):
        sine, cosine = torch.tensor(angle).sin(), torch.tensor(angle).cos()
        own = slice(2 * number, 2 * number + 2)
        matrix[own, own] = torch.tensor([[cosine, sine], [-sine, cosine]])
    return matrix
