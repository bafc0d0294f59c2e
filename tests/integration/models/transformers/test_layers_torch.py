"""What learns, and how fast: freezing, layer-wise rates, weight decay, adapters."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from transformers import CONFIG_MAPPING, AutoModelForSequenceClassification
from transformers.trainer_pt_utils import get_parameter_names

from burnish.errors import ConfigError
from burnish.models.transformer import Transformer
from burnish.models.transformers.layers_torch import find_layers, parameter_depths, parameter_groups, usual_rate
from burnish.optim.optimizers import AdamW
from burnish.spec.values import HeadSpec
from burnish.testing.tiny_torch import ENCODER_DECODERS, FAMILIES

Tiny = Callable[[str], str]
BATCH = {"input_ids": torch.tensor([[2, 9, 10, 3]]), "attention_mask": torch.ones(1, 4, dtype=torch.long)}


def _network(head: HeadSpec, /, **options: Any) -> Any:
    torch.manual_seed(0)
    model = Transformer(**options)
    return model.network(head, model.assets())


def _changed_by_a_step(network: Any) -> set[str]:
    before = copy.deepcopy(dict(network.named_parameters()))
    groups = network.parameter_groups(learning_rate=0.1, weight_decay=0.1)
    optimizer = AdamW().build(network, groups)
    network(BATCH).square().sum().backward()
    optimizer.step()
    return {name for name, param in network.named_parameters() if not torch.equal(param, before[name])}


@pytest.mark.parametrize("architecture", sorted(set(FAMILIES) - ENCODER_DECODERS - {"albert"}))
def test_frozen_parts_do_not_change(tiny: Tiny, head: HeadSpec, architecture: str) -> None:
    network = _network(head, name=tiny(architecture), freeze={"embeddings": True, "layers": 1})
    changed = _changed_by_a_step(network)
    assert not [name for name in changed if "emb" in name or ".wte" in name or ".wpe" in name]
    assert not [name for name in changed if ".layer.0." in name or ".h.0." in name]
    assert [name for name in changed if ".layer.1." in name or ".h.1." in name]


def test_more_frozen_layers_than_there_are_is_refused(tiny: Tiny, head: HeadSpec) -> None:
    with pytest.raises(ConfigError, match=r"model.freeze.layers must be at most 2, the layers of this model, got 5"):
        _network(head, name=tiny("bert"), freeze={"layers": 5})


def _rates(network: Any, **options: Any) -> dict[str, float]:
    names = {id(param): name for name, param in network.named_parameters()}
    groups = parameter_groups(network, learning_rate=1.0, weight_decay=0.1, **options)
    return {names[id(param)]: group["lr"] for group in groups for param in group["params"]}


@pytest.mark.parametrize("architecture", ["bert", "roberta", "distilbert", "electra", "deberta-v2", "xlnet", "gpt2"])
def test_each_layer_learns_at_a_share_of_the_rate_above_it(tiny: Tiny, head: HeadSpec, architecture: str) -> None:
    rates = _rates(_network(head, name=tiny(architecture)), layer_decay=0.5)
    for name, rate in rates.items():
        if ".layer.0." in name or ".h.0." in name:
            assert rate == 0.25, name
        elif ".layer.1." in name or ".h.1." in name:
            assert rate == 0.5, name
        elif "emb" in name or ".wte" in name or ".wpe" in name:
            assert rate == 0.125, name
        else:
            assert rate == 1.0, name
    assert set(rates.values()) == {0.125, 0.25, 0.5, 1.0}


def test_shared_layers_learn_as_one(tiny: Tiny, head: HeadSpec) -> None:
    rates = _rates(_network(head, name=tiny("albert")), layer_decay=0.5)
    assert {rate for name, rate in rates.items() if "albert_layer_groups" in name} == {0.5}
    assert rates["model.classifier.weight"] == 1.0


def test_without_layer_decay_all_learn_at_one_rate(tiny: Tiny, head: HeadSpec) -> None:
    assert set(_rates(_network(head, name=tiny("bert"))).values()) == {1.0}


def test_the_models_own_layer_decay_reaches_the_groups(tiny: Tiny, head: HeadSpec) -> None:
    network = _network(head, name=tiny("bert"), layer_decay=0.9)
    groups = network.parameter_groups(learning_rate=1e-3, weight_decay=0.0)
    assert {round(group["lr"], 9) for group in groups} == {1e-3, 9e-4, 8.1e-4, 7.29e-4}


@pytest.mark.parametrize("architecture", sorted(set(FAMILIES) - ENCODER_DECODERS))
def test_biases_and_norms_do_not_decay_and_all_else_does(tiny: Tiny, head: HeadSpec, architecture: str) -> None:
    network = _network(head, name=tiny(architecture))
    norms = {
        f"{path}.{name}"
        for path, module in network.named_modules()
        if isinstance(module, nn.LayerNorm)
        for name, _ in module.named_parameters()
    }
    decays = {
        id(param): group["weight_decay"] > 0
        for group in parameter_groups(network, learning_rate=1.0, weight_decay=0.1)
        for param in group["params"]
    }
    for name, param in network.named_parameters():
        is_plain = name in norms or name.endswith("bias") or param.ndim == 1
        assert decays[id(param)] is not is_plain, name
    assert len(decays) == len(list(network.parameters()))


class RmsNorm(nn.Module):
    """A norm that torch does not know, with a weight of two dimensions."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 2))


class Gain(nn.Module):
    """A vector that is neither a bias nor in a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(2))


def test_norms_of_any_class_and_vectors_do_not_decay_and_frozen_parameters_are_left_out() -> None:
    network = nn.Sequential(nn.Linear(2, 2), RmsNorm(), nn.Linear(2, 2), Gain())
    network[2].requires_grad_(False)
    groups = parameter_groups(network, learning_rate=1.0, weight_decay=0.1)
    found = {group["weight_decay"]: [id(param) for param in group["params"]] for group in groups}
    assert found == {
        0.1: [id(network[0].weight)],
        0.0: [id(network[0].bias), id(network[1].weight), id(network[3].gain)],
    }


ARCHITECTURES = (
    *("albert", "bart", "bert", "big_bird", "bloom", "camembert", "convbert", "deberta", "deberta-v2"),
    *(
        "distilbert",
        "electra",
        "ernie",
        "eurobert",
        "fnet",
        "gpt2",
        "gpt_neox",
        "llama",
        "longformer",
        "mbart",
    ),
    *("megatron-bert", "mobilebert", "modernbert", "mpnet", "opt", "qwen2", "reformer", "rembert", "roberta"),
    *("squeezebert", "t5", "umt5", "xlm", "xlm-roberta", "xlnet"),
)
FORBIDDEN = [r"bias", r"layernorm", r"rmsnorm", r"(?:^|\.)norm(?:$|\.)", r"_norm(?:$|\.)"]
"""What `transformers.Trainer` does not decay, besides norms."""


def _untrained(architecture: str) -> nn.Module:
    config = CONFIG_MAPPING[architecture]()
    for name, value in {"num_hidden_layers": 2, "pad_token_id": 0}.items():
        if hasattr(config, name):
            setattr(config, name, value)
    with torch.device("meta"):
        return AutoModelForSequenceClassification.from_config(config)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_what_decays_is_what_transformers_would_decay(architecture: str) -> None:
    network = _untrained(architecture)
    names = {id(param): name for name, param in network.named_parameters()}
    groups = parameter_groups(network, learning_rate=1.0, weight_decay=0.1)
    ours = {names[id(param)] for group in groups if group["weight_decay"] for param in group["params"]}
    theirs = set(get_parameter_names(network, [nn.LayerNorm], FORBIDDEN))
    plain = {name for name, param in network.named_parameters() if param.ndim > 1}
    assert ours == theirs & plain


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_embeddings_are_at_the_bottom_and_poolers_and_heads_at_the_top(architecture: str) -> None:
    network = _untrained(architecture)
    depths = parameter_depths(network)
    top = len(find_layers(network)[1]) + 1
    words = network.get_input_embeddings()
    bottom = {id(param) for param in words.parameters()} if words is not None else set()
    heads = ("pooler", "classifier", "classification_head", "score", "logits_proj", "head.")
    for name, param in network.named_parameters():
        if id(param) in bottom:
            assert depths[name] == 0, name
        if name.split(".", 1)[-1].startswith(heads) or name.startswith(heads):
            assert depths[name] == top, name


@pytest.mark.parametrize(
    ("shape", "rate"),
    [
        (
            {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16},
            2e-5,
        ),  # BERT-large
        ({"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12}, 2e-5),  # BERT-base
        ({"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 6}, 5e-5),  # DistilBERT
        ({"hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 6}, 1e-4),  # MiniLM
        ({"hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 6, "vocab_size": 250_000}, 1e-4),
    ],
)
def test_small_models_take_higher_rates_and_words_do_not_count(shape: dict[str, int], rate: float) -> None:
    with torch.device("meta"):
        model = AutoModelForSequenceClassification.from_config(CONFIG_MAPPING["bert"](**shape))
    assert usual_rate(model) == rate


def test_what_learns_counts_for_the_rate_and_not_what_is_frozen(tiny: Tiny, head: HeadSpec) -> None:
    with torch.device("meta"):
        model = AutoModelForSequenceClassification.from_config(CONFIG_MAPPING["bert"]())
    for name, param in model.named_parameters():
        param.requires_grad = name.startswith("classifier")
    assert usual_rate(model) == 1e-4
    assert _network(head, name=tiny("bert")).usual_rate == 1e-4
