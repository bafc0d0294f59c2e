"""Builds, saves and loads the network of a transformer, whatever it ends in."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel

from burnish.data.tokens.tokens import TextAssets, Vocabulary
from burnish.durable import read_json
from burnish.models.transformer import Transformer
from burnish.models.transformers import layers_torch
from burnish.models.transformers.adapters_torch import (
    add_adapters,
    has_adapters,
    merge_saved_adapter,
    save_adapter,
    without_adapters,
)
from burnish.models.transformers.attention_torch import asked_of_transformers, settle_attention
from burnish.models.transformers.cls_only_last_layer_torch import answer_from_first_token
from burnish.models.transformers.config_torch import set_head
from burnish.models.transformers.dropout_torch import use_lean_dropout
from burnish.models.transformers.heads_torch import kind_of
from burnish.models.transformers.hf_logging_torch import quiet, refusing
from burnish.models.transformers.joint_torch import Shared, share
from burnish.models.transformers.local_attention_init_torch import look_at_neighbours
from burnish.models.transformers.locate_model import ADAPTER, checkpoint_file, refusal, weights_folder
from burnish.models.transformers.network_torch import TransformerNetwork
from burnish.models.transformers.vectors_torch import write_modules
from burnish.spec.protocols import Assets
from burnish.spec.values import HeadSpec

_CLASSIFIES = "sequence_classification"
_ABOVE = "above.safetensors"
_ADAPTER = "adapter_config.json"
_INDEX = "model.safetensors.index.json"


def build_network(options: Transformer, head: HeadSpec, *, assets: Assets) -> TransformerNetwork:
    """Build the network that these options describe; what is new in it is drawn from torch's generator."""
    if not isinstance(assets, TextAssets):
        raise TypeError(f"a transformer reads tokens, and got {type(assets).__name__}")
    if head.parts:
        return _build_joint(options, head, assets=assets)
    model, fresh = options.build_model(options.build_config(head, assets), head)
    _start(model.base_model, options, assets=assets)
    if head.kind == _CLASSIFIES:
        answer_from_first_token(model)
    if options.lora is not None:
        add_adapters(model, options.lora, fresh=fresh | _head_names(model))
    layers_torch.freeze(model, options.freeze)
    network = kind_of(head).network(model, head, layer_decay=options.layer_decay)
    use_lean_dropout(network)
    network.fresh = frozenset(fresh)
    network.left_unread = getattr(model, "left_unread", ())
    if options.pretrained and network.parts:
        allow_pickle = options.allow_pickle_weights
        _read_parts(network, weights_folder(options.name or "", options.hub_copy, allow_pickle=allow_pickle))
    return network


def _build_joint(options: Transformer, head: HeadSpec, *, assets: TextAssets) -> TransformerNetwork:
    shared = share(
        head,
        lambda part: options.build_model(options.build_config(part, assets), part),
        kinds=options.joint_heads,
    )
    _start(shared.base, options, assets=assets)
    _answer_from_first_token(shared, head)
    if options.lora is not None:
        add_adapters(shared.base, options.lora, fresh=shared.fresh)
    layers_torch.freeze(shared.base, options.freeze)
    for model in (shared.base, *shared.tops.values()):
        use_lean_dropout(model)
    return shared.network(head, options)


def _start(layers: PreTrainedModel, options: Transformer, *, assets: TextAssets) -> None:
    if options.start == "neighbours":
        look_at_neighbours(layers, mask_id=Vocabulary(assets).role("mask_token"))


def _answer_from_first_token(shared: Shared, head: HeadSpec) -> None:
    """Spare the last layer what no head reads: only where all of them look at the first token alone."""
    if all(part.kind == _CLASSIFIES for part in head.parts.values()):
        answer_from_first_token(shared.first)


def load_model(options: Transformer, config: PretrainedConfig, *, head: HeadSpec) -> tuple[PreTrainedModel, set[str]]:
    """Make the model of a config, with weights or random ones, and name the parameters that no file held."""
    auto = kind_of(head).auto
    if options.pretrained:
        model, fresh = _pretrained(options, config, auto=auto)
        if options.checkpoint != "best":
            fresh -= _read_checkpoint(model, options)
        return model, fresh | (_renew_head(model) if options.head == "new" else set())
    model = _random(options, config, auto=auto)
    return model, {name for name, _ in model.named_parameters()}


def save_network(network: TransformerNetwork, directory: Path, *, options: Transformer) -> None:
    """Write config.json and model.safetensors that `transformers` itself can load, adapters merged or beside them."""
    model = network.model
    if has_adapters(model):
        is_merged = options.lora is None or options.lora.merge
        model = without_adapters(model, merge=is_merged)
        if not is_merged:
            save_adapter(network.model, directory, kind=network.head.kind, options=options)
    model.config.name_or_path = ""  # where the weights once came from is no part of what they are
    with refusing(f"the weights could not be written to {directory}"):
        model.save_pretrained(directory)
        for name, part in network.parts.items():
            part.save_pretrained(directory / name)
    if network.head.kind == "embedding":
        write_modules(directory, network.head, width=model.config.hidden_size)
    above = {name: tensor.detach().cpu().contiguous() for name, tensor in _above(network).items()}
    if above:
        save_file(above, directory / _ABOVE)


def load_network(directory: Path, head: HeadSpec, *, options: Transformer) -> TransformerNetwork:
    """Read back what `save_network` wrote."""
    if (directory / _ADAPTER).exists() and not options.trust_remote_code:
        raise refusal(f"{directory} holds {_ADAPTER}, which leads to another model; adapters are merged when saved")
    with refusing(f"the config in {directory} could not be loaded"):
        config = AutoConfig.from_pretrained(directory, trust_remote_code=options.trust_remote_code)
    if head.parts:
        return _load_joint(directory, config, head, options=options)
    set_head(config, head)
    kind = kind_of(head)
    model, fresh = _read(directory, config, options=options, name=str(directory), auto=kind.auto)
    if fresh:
        raise refusal(f"{directory} does not hold all weights of this model: {_some(fresh)} are missing")
    if head.kind == _CLASSIFIES:
        answer_from_first_token(model)
    network = kind.network(model, head, layer_decay=options.layer_decay)
    _read_parts(network, directory)
    _read_above(network, directory)
    return network


def _load_joint(
    directory: Path, config: PretrainedConfig, head: HeadSpec, *, options: Transformer
) -> TransformerNetwork:
    def build(part: HeadSpec) -> tuple[PreTrainedModel, set[str]]:
        own = copy.deepcopy(config)
        set_head(own, part)
        return _random(options, own, auto=kind_of(part).auto), set()

    shared = share(head, build, kinds=options.joint_heads)
    read, fresh = _read(directory, config, options=options, name=str(directory), auto=AutoModel)
    lost = fresh & {*shared.base.state_dict()}
    if lost:
        raise refusal(f"{directory} does not hold all weights of this model: {_some(lost)} are missing")
    shared.base.load_state_dict(read.state_dict(), strict=False)
    _answer_from_first_token(shared, head)
    network = shared.network(head, options)
    _read_above(network, directory)
    return network


def _read_parts(network: TransformerNetwork, directory: Path) -> None:
    for name, part in network.parts.items():
        if (directory / name).is_dir():
            with refusing(f"the weights of {name} in {directory} could not be loaded"):
                read = type(part).from_pretrained(directory / name, local_files_only=True, use_safetensors=True)
            part.load_state_dict(read.state_dict())
    network.settle()


def _above(network: TransformerNetwork) -> dict[str, Tensor]:
    """Return the weights of what stands above the models of `transformers` and is no part of them, tied ones once."""
    models = ("model.", *(f"{name}." for name in network.parts))
    held = network.state_dict(keep_vars=True)  # as they are, for what is tied is one object of several names
    seen = {id(tensor) for name, tensor in held.items() if name.startswith(models)}
    above: dict[str, Tensor] = {}
    for name, tensor in held.items():
        if id(tensor) not in seen:
            above[name] = tensor
            seen.add(id(tensor))
    return above


def _read_above(network: TransformerNetwork, directory: Path) -> None:
    wanted = _above(network)
    if not wanted:
        return
    try:
        held = load_file(directory / _ABOVE)
    except (OSError, SafetensorError) as error:
        raise refusal(f"{directory} does not hold the layers above its model ({_ABOVE}): {error}") from error
    odd = {
        name
        for name in {*wanted, *held}
        if name not in held or name not in wanted or held[name].shape != wanted[name].shape
    }
    if odd:
        raise refusal(
            f"{directory / _ABOVE} is of another network: {_some(odd)} are missing, strange or of another shape"
        )
    network.load_state_dict(held, strict=False)


def _random(options: Transformer, config: PretrainedConfig, *, auto: Any) -> PreTrainedModel:
    with refusing("model: no network can be made of this config"):
        model: PreTrainedModel = auto.from_config(
            config,
            trust_remote_code=options.trust_remote_code,
            attn_implementation=asked_of_transformers(options.attention),
            dtype=torch.float32,
        )
    settle_attention(model, options.attention)
    return model


def _pretrained(options: Transformer, config: PretrainedConfig, *, auto: Any) -> tuple[PreTrainedModel, set[str]]:
    """Load weights, and name the parameters that had none; only those above the layers may lack them."""
    name = options.name or ""
    with quiet():
        folder = weights_folder(name, options.hub_copy, allow_pickle=options.allow_pickle_weights)
    model, fresh = _read(folder, config, options=options, name=name, auto=auto)
    below = layers_torch.names_below(model)
    lost = {key for key in fresh if key.startswith(below) and "pooler" not in key}
    if lost:
        raise refusal(
            f"model.name: the weights of {name} do not fit a {config.model_type} model of this config: "
            f"{_some(lost)} are missing or of another shape"
        )
    return model, fresh


def _read(
    folder: Path, config: PretrainedConfig, *, options: Transformer, name: str, auto: Any
) -> tuple[PreTrainedModel, set[str]]:
    with refusing(f"model.name: the weights of {name} could not be loaded"):
        if (folder / _INDEX).exists():
            _check_shards(folder, allow_pickle=options.allow_pickle_weights)
        model, report = auto.from_pretrained(
            folder,
            config=config,
            trust_remote_code=options.trust_remote_code,
            attn_implementation=asked_of_transformers(options.attention),
            use_safetensors=None if options.allow_pickle_weights else True,
            ignore_mismatched_sizes=True,  # a head for other labels is replaced; _pretrained refuses the rest
            output_loading_info=True,
            local_files_only=True,
            dtype=torch.float32,
        )
    if (folder / ADAPTER).is_dir():
        merge_saved_adapter(model, folder / ADAPTER)
    settle_attention(model, options.attention)
    mismatched = {entry[0] if isinstance(entry, tuple) else entry for entry in report["mismatched_keys"]}
    model.left_unread = tuple(sorted({*report["unexpected_keys"]}))
    return model, {*report["missing_keys"], *mismatched}


def _check_shards(folder: Path, *, allow_pickle: bool) -> None:
    """Refuse an index that leads out of its folder, or to what would be unpickled."""
    for name in sorted({str(name) for name in read_json(folder / _INDEX)["weight_map"].values()}):
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise ValueError(f"{_INDEX} names {name}, which is outside of the model's folder")
        if not allow_pickle and not name.endswith(".safetensors"):
            raise ValueError(
                f"{_INDEX} names {name}, which is not a safetensors file and could run code when it is read"
            )


def _read_checkpoint(model: PreTrainedModel, options: Transformer) -> set[str]:
    """Put the weights of a run's checkpoint in place, all that fit, and name them; the layers must all be there."""
    path = checkpoint_file(options.name or "", options.checkpoint)
    wanted = model.state_dict()
    with refusing(f"model.checkpoint: {path} could not be loaded"):
        held = {name.removeprefix("model."): tensor for name, tensor in load_file(path).items()}
    fitting = {name: each for name, each in held.items() if name in wanted and each.shape == wanted[name].shape}
    lost = {name for name in wanted if name.startswith(layers_torch.names_below(model)) and name not in fitting}
    if lost:
        raise refusal(f"model.checkpoint: {path} is of another model: {_some(lost)} are missing or of another shape")
    model.load_state_dict(fitting, strict=False)
    return {*fitting}


def _renew_head(model: PreTrainedModel) -> set[str]:
    inside = {id(module) for module in model.base_model.modules()}
    for module in model.modules():
        own = [*module.parameters(recurse=False)]
        if id(module) not in inside and own:
            for parameter in own:
                parameter._is_hf_initialized = False  # type: ignore[attr-defined]  # or transformers leaves it alone
            model._init_weights(module)  # type: ignore[no-untyped-call]  # transformers leaves it untyped
    return _head_names(model)


def _head_names(model: PreTrainedModel) -> set[str]:
    inside = {id(param) for param in model.base_model.parameters()}
    return {name for name, param in model.named_parameters() if id(param) not in inside}


def _some(names: set[str]) -> str:
    shown = ", ".join(sorted(names)[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
