"""Tells embeddings, layers and head of a network apart: to freeze or adapt them, and for their learning rates."""

import copy
import re
from collections.abc import Iterable, Iterator
from typing import Any

from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from burnish.extras import require
from burnish.models.transformer import Freeze, Lora
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


_WHY = "to train LoRA adapters"


def add_adapters(model: PreTrainedModel, lora: Lora, *, fresh: Iterable[str]) -> None:
    """Freeze everything but new adapters and the parameters named `fresh`, which hold nothing learned yet."""
    peft = require("peft", extra="lora", why=_WHY)
    learned = {name: param for name, param in model.named_parameters() if name in set(fresh)}
    options = peft.LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules=_targets(model, lora),
        fan_in_fan_out=any(isinstance(module, Conv1D) for module in model.modules()),  # GPT-2 stores weights transposed
    )
    for param in model.parameters():
        param.requires_grad_(False)
    peft.inject_adapter_in_model(options, model.base_model)
    for param in learned.values():
        param.requires_grad_(True)


def merged(model: PreTrainedModel) -> PreTrainedModel:
    """Return the model with its adapters added into the weights, leaving the original as it is."""
    if not any(hasattr(module, "lora_A") for module in model.modules()):
        return model
    plain = copy.deepcopy(model)
    for name, module in [*plain.named_modules()]:
        if hasattr(module, "lora_A") and hasattr(module, "get_base_layer"):
            module.merge(safe_merge=True)
            plain.set_submodule(name, module.get_base_layer())
    return plain


def _targets(model: PreTrainedModel, lora: Lora) -> list[str]:
    names = [name for name, module in model.base_model.named_modules() if isinstance(module, nn.Linear | Conv1D)]
    wanted = list(lora.targets) if lora.targets is not None else _usual(model.config.model_type)
    unmatched = [target for target in wanted if not any(f".{name}".endswith(f".{target}") for name in names)]
    if unmatched or not wanted:
        ends = ", ".join(sorted({name.rpartition(".")[2] for name in names}))
        what = f"there is no layer {', '.join(unmatched)}" if unmatched else "the layers to adapt are not known"
        raise refusal(f"model.lora.targets: {what} in a {model.config.model_type} model; name some of {ends}")
    return wanted


def _usual(model_type: str) -> list[str]:
    constants = require("peft.utils.constants", extra="lora", why=_WHY)
    return list(constants.TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING.get(model_type, ()))
