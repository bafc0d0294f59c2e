"""Makes the `transformers` config of a network: size, head, dropout."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal

import yaml
from transformers import CONFIG_MAPPING, AutoConfig, PretrainedConfig

from burnish.data.tokens.tokens import TextAssets, Vocabulary
from burnish.models.transformer import Transformer
from burnish.models.transformers.hf_logging_torch import quiet, refusing
from burnish.models.transformers.locate_model import config_folder, refusal
from burnish.nearest import nearest
from burnish.spec.values import HeadSpec

ProblemType = Literal["single_label_classification", "multi_label_classification", "regression"]

_PROBLEM_TYPES: Mapping[str, ProblemType] = {
    "cross_entropy": "single_label_classification",
    "focal": "single_label_classification",
    "binary_cross_entropy": "multi_label_classification",
    "mean_squared_error": "regression",
}
_LABELLED = ("sequence_classification", "token_classification", "question_answering")
_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "intermediate_size": ("hidden_dim", "d_inner", "n_inner", "ffn_dim", "encoder_ffn_dim", "d_ff")
}

_OF_DECODER = {
    "encoder_layers": "decoder_layers",
    "encoder_attention_heads": "decoder_attention_heads",
    "encoder_ffn_dim": "decoder_ffn_dim",
    "num_layers": "num_decoder_layers",
}
"""What is as large in the decoder as in the encoder, where a size is asked for."""


def base_config(options: Transformer) -> PretrainedConfig:
    """Load or make the config before any head, with the size that was asked for."""
    source, option = (options.config, "model.config") if options.config else (options.name, "model.name")
    config = _new_config(options) if source is None else _read_config(options, source, option=option)
    wanted = {name: value for name, value in options.size.model_dump().items() if value is not None}
    config = _resized(config, wanted) if wanted else config
    return _with_fields(config, options.fields) if options.fields else config


def network_config(options: Transformer, head: HeadSpec, *, assets: TextAssets) -> PretrainedConfig:
    """Return the config with head, vocabulary, padding and dropout set."""
    config = base_config(options)
    set_head(config, head)
    if head.kind == "seq2seq_lm" and not options.pretrained:
        _name_ends(config, Vocabulary(assets))
    config.pad_token_id = assets.pad_id
    # The highest id counts, not how many there are: vocabularies have gaps.
    highest = max(assets.tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)
    num_tokens = highest + 1
    if not options.pretrained and options.size.vocab_size is None:
        config.vocab_size = num_tokens
        if hasattr(config, "decoder_vocab_size"):  # Marian may write in another vocabulary than it reads
            config.decoder_vocab_size = num_tokens
    if config.vocab_size < num_tokens:
        raise refusal(
            f"model.tokenizer has {num_tokens} tokens and the model only {config.vocab_size}; "
            f"use the tokenizer that the model was trained with"
        )
    if options.dropout is not None:
        _replace(config, _dropout_names(config, of_attention=False), value=options.dropout, option="dropout")
    attention = options.attention_dropout if options.attention_dropout is not None else options.dropout
    names = _dropout_names(config, of_attention=True)
    if attention is not None and (names or options.attention_dropout is not None):
        _replace(config, names, value=attention, option="attention_dropout")
    return config


def set_head(config: PretrainedConfig, head: HeadSpec) -> None:
    """Write the head into a config, so that the folder tells its labels to any reader."""
    if head.kind == "pretraining":
        config.num_labels = 2  # ALBERT judges pairs by so many, and the config may be that of other labels
    if head.kind not in _LABELLED:
        return
    labels = head.labels if len(head.labels) == head.size else [f"LABEL_{index}" for index in range(head.size)]
    config.num_labels = head.size
    config.id2label = dict(enumerate(labels))
    config.label2id = {label: index for index, label in enumerate(labels)}
    if head.kind == "sequence_classification":
        config.problem_type = _PROBLEM_TYPES[head.objective.name]


def largest_dropout(config: PretrainedConfig) -> float:
    """Return the dropout that a new layer above the others should have: the largest of theirs but the attention's."""
    values = [getattr(config, name) for name in _dropout_names(config, of_attention=False)]
    return max((value for value in values if value is not None), default=0.0)


def _new_config(options: Transformer) -> PretrainedConfig:
    architecture = options.architecture or "bert"
    if architecture not in CONFIG_MAPPING:
        close = get_close_matches(architecture, CONFIG_MAPPING, n=1)
        hint = f"did you mean {close[0]}?" if close else "it must be one like bert, roberta, electra"
        raise refusal(f"model.architecture: transformers has no architecture {architecture}; {hint}")
    with quiet():
        return AutoConfig.for_model(architecture)


def _read_config(options: Transformer, source: str, *, option: str) -> PretrainedConfig:
    with quiet():
        folder = config_folder(source, options.hub_copy, option=option)
    if not (folder / "config.json").is_file():
        raise refusal(f"{option}: {source} holds no config.json; it must be the folder of a transformers model")
    with refusing(f"{option}: the config of {source} could not be loaded"):
        config: PretrainedConfig = AutoConfig.from_pretrained(folder, trust_remote_code=options.trust_remote_code)
    return config


def _resized(config: PretrainedConfig, wanted: dict[str, int]) -> PretrainedConfig:
    known = config.to_dict()
    own = {_own_name(config, name, known=known): value for name, value in wanted.items()}
    resized = {**known, **own}
    # XLNet states the width of a head apart, and refuses one that does not follow from the others.
    derived = {"d_head": resized["d_model"] // resized["n_head"]} if "d_head" in known else {}
    by_map = {config.attribute_map.get(name, name): value for name, value in own.items()}
    derived |= {_OF_DECODER[name]: value for name, value in by_map.items() if _OF_DECODER.get(name) in known}
    with refusing("model.size: no such model can be made"):
        return type(config).from_dict({**resized, **derived})


def _with_fields(config: PretrainedConfig, fields: Mapping[str, str]) -> PretrainedConfig:
    known = config.to_dict()
    for name in fields:
        if name not in known and name not in config.attribute_map:
            close = nearest(name, known)
            hint = f"did you mean {close}?" if close else f"it has {', '.join(sorted(known))}"
            raise refusal(f"model.fields.{name}: the config of a {config.model_type} model has no such field; {hint}")
    own = {config.attribute_map.get(name, name): _value(text) for name, text in fields.items()}
    with refusing(f"model.fields: no {config.model_type} model can be made so"):
        return type(config).from_dict({**known, **own})


def _value(text: str) -> Any:
    """Read a field as YAML does, and a number with an exponent as what it is."""
    value = yaml.safe_load(text)
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _own_name(config: PretrainedConfig, name: str, *, known: dict[str, Any]) -> str:
    """Return the name that this sort of model has for an option."""
    candidates: tuple[str, ...] = (name, config.attribute_map.get(name, name), *_OTHER_NAMES.get(name, ()))
    found = next((candidate for candidate in candidates if candidate in known), None)
    if found is None:
        raise refusal(f"model.size.{name}: a {config.model_type} model has no such option; leave it out")
    return found


def _name_ends(config: PretrainedConfig, vocabulary: Vocabulary) -> None:
    """Let targets start and end with tokens of this tokenizer, of the roles that they have in the family of models."""
    start = getattr(config, "decoder_start_token_id", None)
    named = {role: getattr(config, f"{role}_token_id", None) for role in ("pad", "eos", "bos")}
    role_of_start = next((role for role, number in named.items() if start is not None and number == start), "pad")
    ends = [vocabulary.role(name) for name in ("eos_token", "sep_token")]
    begins = [vocabulary.role(name) for name in ("bos_token", "cls_token")]
    end, begin = (next((each for each in some if each is not None), None) for some in (ends, begins))
    if end is None:
        raise refusal("model.tokenizer has no token for the end of a text, at which task seq2seq stops writing")
    config.eos_token_id, config.bos_token_id = end, begin
    config.decoder_start_token_id = {"pad": vocabulary.assets.pad_id, "eos": end, "bos": begin}[role_of_start]
    if getattr(config, "forced_eos_token_id", None) is not None:
        config.forced_eos_token_id = end


def _replace(config: PretrainedConfig, names: list[str], *, value: float, option: str) -> None:
    if not names:
        raise refusal(f"model.{option}: a {config.model_type} model has no such dropout; leave it out")
    for name in names:
        setattr(config, name, value)


def _dropout_names(config: PretrainedConfig, *, of_attention: bool) -> list[str]:
    """List the options that are dropouts, by the habits of naming in `transformers`."""
    found = {name: value for name, value in config.to_dict().items() if "dropout" in name or name.endswith("pdrop")}
    numbers = [name for name, value in found.items() if value is None or type(value) in (int, float)]
    return [name for name in numbers if ("att" in name) == of_attention]
