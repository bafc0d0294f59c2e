"""Puts LoRA adapters into a model, and merges them into its weights."""

import copy
from collections.abc import Iterable

from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from burnish.extras import require
from burnish.models.transformer import Lora
from burnish.models.transformers.locate_model import refusal

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
    """Give the model with its adapters added into the weights, leaving the original as it is."""
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
    unmatched = [target for target in wanted if not any(_ends_with(name, target) for name in names)]
    if unmatched or not wanted:
        ends = ", ".join(sorted({name.rpartition(".")[2] for name in names}))
        what = f"there is no layer {', '.join(unmatched)}" if unmatched else "the layers to adapt are not known"
        raise refusal(f"model.lora.targets: {what} in a {model.config.model_type} model; name some of {ends}")
    return wanted


def _usual(model_type: str) -> list[str]:
    constants = require("peft.utils.constants", extra="lora", why=_WHY)
    return list(constants.TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING.get(model_type, ()))


def _ends_with(name: str, target: str) -> bool:
    return name == target or name.endswith(f".{target}")
