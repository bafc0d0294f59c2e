"""Trains LoRA adapters with peft, merges them into the weights, and writes and reads them in peft's own form."""

import copy
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from burnish.durable import read_json
from burnish.extras import require
from burnish.models.transformer import Lora, Transformer
from burnish.models.transformers.hf_logging_torch import refusing
from burnish.models.transformers.locate_model import ADAPTER, refusal

_WHY = "to train LoRA adapters"
_WEIGHTS, _CONFIG = "adapter_model.safetensors", "adapter_config.json"
_WRAPPED = "base_model.model."
"""What peft puts before the names of a model that it wraps."""
_PEFT_TASKS = {
    "sequence_classification": "SEQ_CLS",
    "token_classification": "TOKEN_CLS",
    "question_answering": "QUESTION_ANS",
    "causal_lm": "CAUSAL_LM",
    "seq2seq_lm": "SEQ_2_SEQ_LM",
    "embedding": "FEATURE_EXTRACTION",
}


def add_adapters(model: PreTrainedModel, lora: Lora, *, fresh: Iterable[str]) -> None:
    """Freeze everything but new adapters and the parameters named `fresh`, which hold nothing learned yet."""
    learned = {name: param for name, param in model.named_parameters() if name in set(fresh)}
    names = [name for name, module in model.base_model.named_modules() if isinstance(module, nn.Linear | Conv1D)]
    wanted = list(lora.targets) if lora.targets is not None else _usual(model.config.model_type)
    unmatched = [target for target in wanted if not any(f".{name}".endswith(f".{target}") for name in names)]
    if unmatched or not wanted:
        ends = ", ".join(sorted({name.rpartition(".")[2] for name in names}))
        what = f"there is no layer {', '.join(unmatched)}" if unmatched else "the layers to adapt are not known"
        raise refusal(f"model.lora.targets: {what} in a {model.config.model_type} model; name some of {ends}")
    options = _peft_config(model, lora, target_modules=wanted)
    for param in model.parameters():
        param.requires_grad_(False)
    require("peft", extra="lora", why=_WHY).inject_adapter_in_model(options, model.base_model)
    for param in learned.values():
        param.requires_grad_(True)


def has_adapters(model: nn.Module) -> bool:
    """Check whether adapters lie next to the weights."""
    return any(True for _ in _adapted(model))


def without_adapters(model: PreTrainedModel, *, merge: bool) -> PreTrainedModel:
    """Return a copy without adapters, whose weights are those that were frozen, or have the adapters added to them."""
    plain = copy.deepcopy(model)
    for name, module in [*_adapted(plain)]:
        if merge:
            module.merge(safe_merge=True)
        plain.set_submodule(name, module.get_base_layer())
    return plain


def save_adapter(model: PreTrainedModel, directory: Path, *, kind: str, options: Transformer) -> None:
    """Write adapters, and all else that learned with them, as `peft.PeftModel.from_pretrained` reads them."""
    assert options.lora is not None, "there are adapters"
    config = _peft_config(
        model,
        options.lora,
        modules_to_save=[*_learned_modules(model)] or None,
        task_type=_PEFT_TASKS.get(kind),
        base_model_name_or_path=options.name,
        inference_mode=True,
    )
    config.target_modules = [name for name, _ in _adapted(model)]  # given above, they would be in no order
    held = {
        _WRAPPED + name.replace(".default.", "."): tensor.detach().cpu().clone()
        for name, tensor in model.named_parameters()
        if tensor.requires_grad
    }
    config.save_pretrained(str(directory / ADAPTER))
    save_file(held, directory / ADAPTER / _WEIGHTS, metadata={"format": "pt"})


def merge_saved_adapter(model: PreTrainedModel, folder: Path) -> None:
    """Add the adapter in a folder to the weights; this needs no peft."""
    with refusing(f"the adapter in {folder} could not be loaded"):
        held, config = load_file(folder / _WEIGHTS), read_json(folder / _CONFIG)
        scale = config["lora_alpha"] / config["r"]
    below = f"{_WRAPPED}{model.base_model_prefix}."  # layers are called the same with and without a head above them
    layers = dict(model.base_model.named_modules())
    for key, down in held.items():
        if key.endswith(".lora_A.weight"):
            name = key.removesuffix(".lora_A.weight").removeprefix(below).removeprefix(_WRAPPED)
            added = held[key.replace(".lora_A.", ".lora_B.")] @ down * scale
            layer = layers.get(name)
            if isinstance(layer, Conv1D):
                added = added.T
            if layer is None or layer.weight.shape != added.shape:
                raise refusal(f"{folder} is an adapter of another model: this one has no such layer {name}")
            with torch.no_grad():
                cast(nn.Parameter, layer.weight).add_(added)


def _peft_config(model: PreTrainedModel, lora: Lora, **more: Any) -> Any:  # peft is imported only where it is used
    return require("peft", extra="lora", why=_WHY).LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        fan_in_fan_out=any(isinstance(module, Conv1D) for module in model.modules()),  # GPT-2 stores weights transposed
        **more,
    )


def _adapted(model: nn.Module) -> Iterator[tuple[str, Any]]:
    for name, module in model.named_modules():
        if hasattr(module, "lora_A") and hasattr(module, "get_base_layer"):
            yield name, module


def _learned_modules(model: nn.Module, *, path: str = "") -> Iterator[str]:
    """Name the outermost modules that learn as a whole and are no adapters: a head, a pooler that no file held."""
    for name, module in model.named_children():
        own = [parameter.requires_grad for parameter in module.parameters()]
        if own and all(own):
            yield f"{path}{name}"
        elif any(own) and not hasattr(module, "lora_A"):
            yield from _learned_modules(module, path=f"{path}{name}.")


def _usual(model_type: str) -> list[str]:
    constants = require("peft.utils.constants", extra="lora", why=_WHY)
    return list(constants.TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING.get(model_type, ()))
