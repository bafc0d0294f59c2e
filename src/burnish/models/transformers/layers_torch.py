"""Tells embeddings, layers and head of a network apart: to freeze them, and for their learning rates."""

import re
from collections.abc import Iterator
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from burnish.models.transformer import Freeze
from burnish.models.transformers.locate_model import refusal

_EMBEDS = re.compile(r"(^|_)emb")
"""A word of a name begins so, as in `embeddings_project` or `mask_emb`; `rembert` merely holds it."""


_RATES = ((60e6, 2e-5), (25e6, 5e-5), (0, 1e-4))
"""From how many parameters on, which rate: BERT-base has 86 million, DistilBERT 43 and MiniLM-L6 11."""


def parameter_groups(
    network: nn.Module, *, learning_rate: float, weight_decay: float, layer_decay: float | None = None
) -> list[dict[str, Any]]:
    """Group what learns by depth and by whether it decays: `params`, `lr`, `weight_decay`, `name`."""
    depths, undecayed = parameter_depths(network), set(_undecayed(network))
    top = max(depths.values(), default=0)
    groups: dict[str, dict[str, Any]] = {}
    for name, param in network.named_parameters():
        if param.requires_grad:
            depth = depths[name] if layer_decay is not None else top
            decays = name not in undecayed and param.ndim > 1
            rate = learning_rate * (layer_decay or 1.0) ** (top - depth)
            label = f"depth {depth}, {'decay' if decays else 'no decay'}"
            empty = {"params": [], "lr": rate, "weight_decay": weight_decay if decays else 0.0, "name": label}
            groups.setdefault(label, empty)["params"].append(param)
    return list(groups.values())


def usual_rate(network: nn.Module) -> float:
    """Return the rate to fine-tune at: that of BERT-base for what is as large, and more for what is smaller.

    Only what learns counts, without embeddings: a vocabulary of many languages makes no model slower to learn.
    """
    depths = parameter_depths(network)
    size = sum(param.numel() for name, param in network.named_parameters() if param.requires_grad and depths[name] > 0)
    return next(rate for least, rate in _RATES if size >= least)


def parameter_depths(network: nn.Module) -> dict[str, int]:
    """Give each parameter's depth: 0 for embeddings, 1 for the first layer, the highest for all above the layers."""
    prefix, layers = find_layers(network)
    embeddings = set(_embeddings(network, prefix))
    depths: dict[str, int] = {}
    for name, _ in network.named_parameters():
        if prefix and name.startswith(f"{prefix}."):
            depths[name] = int(name[len(prefix) + 1 :].partition(".")[0]) + 1
        else:
            depths[name] = 0 if name in embeddings and not name.startswith("heads.") else len(layers) + 1
    return depths


def find_layers(network: nn.Module) -> tuple[str, list[nn.Module]]:
    """Find the stack of layers: the first list of modules in the network, and its name."""
    for name, module in network.named_modules():
        if isinstance(module, nn.ModuleList) and len(module):
            return name, list(module)
    return "", []


def names_below(model: PreTrainedModel) -> str:
    """Return what the names of all below a model's head begin with: nothing where it has none, for all is below."""
    return "" if model.base_model is model else f"{model.base_model_prefix}."


def freeze(network: nn.Module, wanted: Freeze) -> None:
    """Keep the embeddings and the first layers as they are."""
    num_layers = len(find_layers(network)[1])
    if wanted.layers > num_layers:
        raise refusal(
            f"model.freeze.layers must be at most {num_layers}, the layers of this model, got {wanted.layers}"
        )
    depths = parameter_depths(network)
    for name, param in network.named_parameters():
        if (depths[name] == 0 and wanted.embeddings) or 1 <= depths[name] <= wanted.layers:
            param.requires_grad_(False)


def _embeddings(network: nn.Module, stack: str) -> Iterator[str]:
    """Name the parameters of modules that embed by their class, and of projections and norms called after them."""
    for path, module in network.named_modules():
        holds_the_layers = f"{stack}.".startswith(f"{path}." if path else "")
        is_class = "Embedding" in type(module).__name__ and not holds_the_layers and not _is_bias(path)
        if is_class or _EMBEDS.search(path.rpartition(".")[2]):
            yield from (f"{path}.{name}" for name, _ in module.named_parameters())
        yield from (f"{path}.{name}" for name, _ in module.named_parameters(recurse=False) if _EMBEDS.search(name))


def _undecayed(network: nn.Module) -> Iterator[str]:
    """Name the parameters of norms, of whatever class, and all biases, those of relative positions among them."""
    for path, module in network.named_modules():
        is_norm = type(module).__name__.endswith("Norm") or isinstance(module, nn.LayerNorm)
        for name, _ in module.named_parameters(recurse=False):
            if is_norm or "bias" in name or _is_bias(path):
                yield f"{path}.{name}" if path else name


def _is_bias(path: str) -> bool:
    """Check whether a module is a bias by its name: of relative positions, it is looked up like an embedding."""
    return path.endswith("bias")
