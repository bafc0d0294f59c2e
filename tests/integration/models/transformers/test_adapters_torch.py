"""LoRA: what learns, and adapters merged or published as peft reads them."""

import copy
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import nn
from transformers import AutoModelForSequenceClassification

from burnish.errors import ConfigError, MissingExtra
from burnish.models.transformer import Transformer
from burnish.models.transformers.heads_torch import kind_of
from burnish.optim.optimizers import AdamW
from burnish.spec.values import HeadSpec, Objective
from burnish.testing.tiny_torch import ENCODER_DECODERS, FAMILIES

Tiny = Callable[[str], str]
BATCH = {"input_ids": torch.tensor([[2, 9, 10, 3]]), "attention_mask": torch.ones(1, 4, dtype=torch.long)}
CLASSIFIERS = sorted(set(FAMILIES) - ENCODER_DECODERS)
TARGETS = {"albert": ["query", "value"], "distilbert": ["q_lin", "v_lin"], "xlnet": ["layer_1"]}
"""Where peft does not know what is usual."""


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


@pytest.mark.parametrize(
    ("architecture", "head_names"),
    [
        ("bert", {"model.classifier.weight", "model.classifier.bias"}),
        ("gpt2", {"model.score.weight"}),
        (
            "roberta",
            {f"model.classifier.{part}.{kind}" for part in ("dense", "out_proj") for kind in ("weight", "bias")},
        ),
    ],
)
def test_lora_trains_adapters_and_the_head_alone(
    tiny: Tiny, head: HeadSpec, architecture: str, head_names: set[str]
) -> None:
    pytest.importorskip("peft")
    network = _network(head, name=tiny(architecture), lora={"rank": 2})
    changed = _changed_by_a_step(network)
    assert {name for name in changed if "lora_" not in name} == head_names
    assert {name for name in changed if "lora_B" in name}


@pytest.mark.parametrize("architecture", ["bert", "gpt2"])
def test_saved_adapters_are_merged_into_a_plain_folder(
    tiny: Tiny, head: HeadSpec, architecture: str, tmp_path: Path
) -> None:
    pytest.importorskip("peft")
    model = Transformer(name=tiny(architecture), lora={"rank": 2, "dropout": 0.1})
    network = _network(head, **model.model_dump())
    _changed_by_a_step(network)
    network.eval()
    with torch.no_grad():
        before = network(BATCH)
        model.save(network, tmp_path)
        plain = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()(**BATCH).logits
        torch.testing.assert_close(plain, before, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(model.load(tmp_path, head).eval()(BATCH), before, rtol=1e-5, atol=1e-5)
        assert torch.equal(network(BATCH), before)  # saving leaves the network, and its adapters, as they were
    assert not [name for name in load_file(tmp_path / "model.safetensors") if "lora" in name]


def test_targets_that_are_not_there_are_refused(tiny: Tiny, head: HeadSpec) -> None:
    pytest.importorskip("peft")
    with pytest.raises(
        ConfigError, match=r"model.lora.targets: there is no layer q_proj in a bert model; name some of"
    ):
        _network(head, name=tiny("bert"), lora={"targets": ["q_proj"]})


def test_lora_without_its_extra_says_how_to_install_it(
    tiny: Tiny, head: HeadSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(MissingExtra, match=r"pip install 'burnish\[lora\]'"):
        _network(head, name=tiny("bert"), lora={})


def _trained(head: HeadSpec, folder: str, directory: Path, **lora: Any) -> tuple[Transformer, Any, Any]:
    """Take a few steps next to the weights, and save; give what a batch is answered with."""
    model = Transformer(name=folder, lora={"rank": 2, "targets": TARGETS.get(Path(folder).name), **lora})
    network = _network(head, **model.model_dump())
    for _ in range(2):  # adapters add nothing before the first step
        _changed_by_a_step(network)
    network.eval()
    with torch.no_grad():
        before = network(BATCH)
        model.assets().save(directory)
        model.save(network, directory)
        torch.testing.assert_close(network(BATCH), before, rtol=0, atol=0)  # saving changed nothing
    return model, network, before


def _logits(model: nn.Module) -> Any:
    with torch.no_grad():
        return model.eval()(**BATCH).logits


@pytest.mark.parametrize("architecture", CLASSIFIERS)
def test_peft_reads_an_adapter_and_answers_alike(tiny: Tiny, head: HeadSpec, architecture: str, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft", reason="adapters need the extra `lora`")
    model, _, before = _trained(head, tiny(architecture), tmp_path, merge=False)
    plain = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert not torch.allclose(_logits(plain), before, atol=1e-3), "the adapter changes nothing"
    theirs = peft.PeftModel.from_pretrained(plain, tmp_path / "adapter")
    torch.testing.assert_close(_logits(theirs), before, rtol=1e-5, atol=1e-5)
    ours = model.load(tmp_path, head).eval()
    with torch.no_grad():
        torch.testing.assert_close(ours(BATCH), before, rtol=1e-4, atol=1e-5)
    assert not [name for name in ours.state_dict() if "lora" in name]


@pytest.mark.parametrize("architecture", CLASSIFIERS)
def test_an_adapter_brings_its_head_to_the_weights_it_was_trained_on(
    tiny: Tiny, head: HeadSpec, architecture: str, tmp_path: Path
) -> None:
    peft = pytest.importorskip("peft", reason="adapters need the extra `lora`")
    before = _trained(head, tiny(architecture), tmp_path, merge=False)[2]
    torch.manual_seed(1)
    base = AutoModelForSequenceClassification.from_pretrained(tiny(architecture), num_labels=3)
    theirs = peft.PeftModel.from_pretrained(base, tmp_path / "adapter")
    torch.testing.assert_close(_logits(theirs), before, rtol=1e-5, atol=1e-5)
    assert theirs.peft_config["default"].base_model_name_or_path == tiny(architecture)


@pytest.mark.parametrize(
    ("architecture", "kind", "size"),
    [
        ("roberta", "token_classification", 3),
        ("bert", "question_answering", 2),
        ("bert", "masked_lm", 0),  # its output bias is a parameter of no module that learns whole
        ("gpt2", "causal_lm", 0),
    ],
)
def test_adapters_of_other_heads_are_read_by_peft_too(
    tiny: Tiny, architecture: str, kind: str, size: int, tmp_path: Path
) -> None:
    peft = pytest.importorskip("peft", reason="adapters need the extra `lora`")
    head = HeadSpec(kind, size, Objective("cross_entropy"), ("a", "b", "c")[:size])
    model = Transformer(name=tiny(architecture), lora={"rank": 2, "merge": False})
    network = model.network(head, model.assets())
    with torch.no_grad():
        for param in network.parameters():
            param.add_(0.1 * torch.randn_like(param) * param.requires_grad)
        model.save(network, tmp_path)
        wanted = network.eval().model(**BATCH)[0]
        more = {"num_labels": size} if size else {}
        base = kind_of(head).auto.from_pretrained(tiny(architecture), **more)
        theirs = peft.PeftModel.from_pretrained(base, tmp_path / "adapter").eval()
        torch.testing.assert_close(theirs(**BATCH)[0], wanted, rtol=1e-5, atol=1e-5)
        ours = model.load(tmp_path, head).eval()
        torch.testing.assert_close(ours.model(**BATCH)[0], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("architecture", ["bert", "gpt2"])
def test_an_adapter_and_merged_weights_are_read_as_the_same_network(
    tiny: Tiny, head: HeadSpec, architecture: str, tmp_path: Path
) -> None:
    pytest.importorskip("peft", reason="adapters need the extra `lora`")
    found = []
    for merge in (True, False):
        model = _trained(head, tiny(architecture), tmp_path / str(merge), alpha=3, merge=merge)[0]
        found.append(model.load(tmp_path / str(merge), head).state_dict())
    assert found[0].keys() == found[1].keys()
    for name, tensor in found[0].items():
        torch.testing.assert_close(found[1][name], tensor, rtol=1e-6, atol=1e-7, msg=name)


def test_a_run_that_starts_from_an_adapter_starts_from_both(tiny: Tiny, head: HeadSpec, tmp_path: Path) -> None:
    pytest.importorskip("peft", reason="adapters need the extra `lora`")
    before = _trained(head, tiny("bert"), tmp_path, merge=False)[2]
    with torch.no_grad():
        torch.testing.assert_close(_network(head, name=str(tmp_path)).eval()(BATCH), before, rtol=1e-5, atol=1e-5)
    vectors = _network(replace(head, kind="embedding", options={"pooling": "mean"}), name=str(tmp_path))
    whole = _network(head, name=str(tmp_path)).model.bert.state_dict()
    for name, tensor in vectors.model.state_dict().items():
        if name in whole:
            assert torch.equal(tensor, whole[name]), name


def test_an_adapter_is_written_in_the_order_of_the_layers(tiny: Tiny, head: HeadSpec, tmp_path: Path) -> None:
    pytest.importorskip("peft", reason="adapters need the extra `lora`")
    _trained(head, tiny("bert"), tmp_path, merge=False)
    names = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())["target_modules"]
    seeing = [f"bert.encoder.layer.{layer}.attention.self" for layer in (0, 1)]
    assert names == [f"{each}.{part}" for each in seeing for part in ("query", "value")]


def test_an_adapter_of_another_model_is_refused(tiny: Tiny, head: HeadSpec, tmp_path: Path) -> None:
    pytest.importorskip("peft", reason="adapters need the extra `lora`")
    _trained(head, tiny("bert"), tmp_path / "bert", merge=False)
    model = _trained(head, tiny("gpt2"), tmp_path / "gpt2", merge=False)[0]
    shutil.rmtree(tmp_path / "gpt2" / "adapter")
    shutil.copytree(tmp_path / "bert" / "adapter", tmp_path / "gpt2" / "adapter")
    with pytest.raises(ConfigError, match=r"is an adapter of another model: this one has no such layer .*query"):
        model.load(tmp_path / "gpt2", head)
    (tmp_path / "gpt2" / "adapter" / "adapter_model.safetensors").unlink()
    with pytest.raises(ConfigError, match=r"the adapter in .* could not be loaded"):
        model.load(tmp_path / "gpt2", head)
