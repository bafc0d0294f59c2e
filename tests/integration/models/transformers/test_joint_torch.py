"""Heads above shared layers answer as each would above layers of its own, whatever the architecture."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from burnish.errors import ConfigError
from burnish.models.transformer import Lora, Transformer
from burnish.models.transformers.layers_torch import names_below
from burnish.models.transformers.transformer_torch import load_network, save_network
from burnish.spec.values import HeadSpec, Objective

BEAM = {"start_n_top": 2, "end_n_top": 2, "max_answer": 3}
VECTORS = {"pooling": "mean", "normalise": True, "temperature": 0.1, "output": "embeddings"}
SORT = HeadSpec("sequence_classification", 3, Objective("cross_entropy"), ("a", "b", "c"))
PARTS = {
    "sort": SORT,
    "means": HeadSpec(
        "pooled_classification", 3, Objective("cross_entropy"), ("a", "b", "c"), options={"pooling": "mean"}
    ),
    "embed": HeadSpec("token_classification", 2, Objective("cross_entropy"), ("O", "B-X")),
    "keys": HeadSpec("multiple_choice", 1, Objective("cross_entropy")),
    "spans": HeadSpec("question_answering", 2, Objective("span")),
    "beam": HeadSpec("question_answering_beam", 2, Objective("span"), options=BEAM),
    "vectors": HeadSpec("embedding", 1, Objective("in_batch"), options=VECTORS),
}
"""Called as something that a mapping of modules already has, and as something that sounds like an embedding."""


def joined(**parts: HeadSpec) -> HeadSpec:
    return HeadSpec("several", 3, Objective("cross_entropy"), parts=parts)


def language(kind: str) -> HeadSpec:
    return HeadSpec(kind, 0, Objective("cross_entropy"), answer="likelihood")


WORDS = language("masked_lm")
HEADS = {
    "bert": joined(**PARTS, words=WORDS, pairs=language("pretraining")),
    "roberta": joined(words=WORDS, **PARTS),
    "distilbert": joined(**PARTS, words=WORDS, more_words=WORDS),
    "electra": joined(**PARTS, words=WORDS),
    "albert": joined(**PARTS, words=WORDS, pairs=language("pretraining")),
    "xlnet": joined(**PARTS, words=language("permutation_lm")),
    "gpt2": joined(vectors=PARTS["vectors"], means=PARTS["means"], sort=SORT, words=language("causal_lm")),
}


def batches(head: HeadSpec) -> list[dict[str, Tensor]]:
    """Give a batch for each part of a head."""
    random = torch.Generator().manual_seed(0)
    ids = torch.randint(5, 40, (3, 7), generator=random)
    plain = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    scored = torch.rand(3, 7, generator=random) < 0.5
    places = {**plain, "scored": scored, "order": torch.where(scored, scored.cumsum(dim=1), -1)}
    texts = {name: array.repeat(1, 2).view(3, 2, 7) for name, array in plain.items()}
    null, characters = torch.zeros(3, dtype=torch.long), torch.arange(7)[None, :, None].expand(3, 7, 2)
    special = {
        "sequence_classification": plain,
        "pooled_classification": plain,
        "embedding": texts,
        "multiple_choice": {**texts, "choices": torch.ones(3, 2) > 0},
        "question_answering_beam": {**plain, "allowed": ids > 0, "null_place": null, "characters": characters},
    }
    each = (special.get(part.kind, places) for part in head.parts.values())
    return [{**batch, "group": torch.full((3,), number)} for number, batch in enumerate(each)]


def network_of(folder: str, head: HeadSpec, **options: Any) -> Any:
    model = Transformer(name=folder, **options)
    torch.manual_seed(0)
    return model.network(head, model.assets()).eval()


@pytest.mark.parametrize("architecture", HEADS)
def test_heads_answer_as_above_layers_of_their_own(
    tiny: Callable[[str], str], tmp_path: Path, architecture: str
) -> None:
    head = HEADS[architecture]
    joint = network_of(tiny(architecture), head)
    with torch.no_grad():
        for parameter in joint.model.parameters():  # or layers that were left to one head would look the same
            parameter.add_(0.05 * torch.randn_like(parameter))
        said = [joint(batch) for batch in batches(head)]
        for (name, part), batch, answer in zip(head.parts.items(), batches(head), said, strict=True):
            alone = network_of(tiny(architecture), part)
            top = joint.heads[f"task_{name}"].model
            own = {f"{names_below(top)}{key}": value for key, value in joint.model.state_dict().items()}
            alone.model.load_state_dict({**top.state_dict(), **own}, strict=False)
            alone.load_state_dict(joint.heads[f"task_{name}"].state_dict(), strict=False)  # what is above the model
            torch.testing.assert_close(answer, alone(batch), rtol=1e-5, atol=1e-5)
        options = Transformer(name=tiny(architecture))
        save_network(joint, tmp_path, options=options)
        again = load_network(tmp_path, head, options=options).eval()
        for batch, answer in zip(batches(head), said, strict=True):
            torch.testing.assert_close(again(batch), answer, rtol=0, atol=0)


@pytest.mark.parametrize("architecture", HEADS)
def test_the_layers_are_counted_and_kept_once(tiny: Callable[[str], str], architecture: str) -> None:
    network = network_of(tiny(architecture), HEADS[architecture])
    layers = {id(tensor) for tensor in network.model.state_dict(keep_vars=True).values()}
    above = {id(tensor) for name, tensor in network.state_dict(keep_vars=True).items() if name.startswith("heads.")}
    assert layers & above == {id(network.model.get_input_embeddings().weight)}  # the output of a language model


@pytest.mark.parametrize("architecture", [name for name, head in HEADS.items() if "words" in head.parts])
def test_a_language_model_stays_tied_to_the_shared_embeddings(
    tiny: Callable[[str], str], tmp_path: Path, architecture: str
) -> None:
    head = joined(sort=SORT, words=HEADS[architecture].parts["words"])  # the layers are those of the first
    network = network_of(tiny(architecture), head)
    words = network.model.get_input_embeddings().weight
    assert network.heads["task_words"].model.get_output_embeddings().weight is words
    learned = [each for group in network.parameter_groups(learning_rate=1, weight_decay=0) for each in group["params"]]
    assert sum(each is words for each in learned) == 1
    network.load_state_dict({name: tensor + 1 for name, tensor in network.state_dict().items()})  # as a resumed run
    assert network.heads["task_words"].model.get_output_embeddings().weight is words
    options = Transformer(name=tiny(architecture))
    save_network(network, tmp_path, options=options)
    again = load_network(tmp_path, head, options=options)
    tied = again.heads["task_words"].model.get_output_embeddings().weight
    assert tied is again.model.get_input_embeddings().weight
    torch.testing.assert_close(tied, words, rtol=0, atol=0)
    assert not any(tensor.shape == words.shape for tensor in load_file(tmp_path / "above.safetensors").values())


@pytest.mark.parametrize("merge", [True, False])
def test_adapters_of_shared_layers_count_whether_they_are_merged_or_saved_apart(
    tiny: Callable[[str], str], tmp_path: Path, merge: bool
) -> None:
    pytest.importorskip("peft", reason="adapters need the extra `lora`")
    head, options = HEADS["bert"], Transformer(name=tiny("bert"), lora=Lora(rank=2, merge=merge))
    network = options.network(head, options.assets()).eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "lora_" in name:
                parameter.add_(0.1)
        said = [network(batch) for batch in batches(head)]
        save_network(network, tmp_path, options=options)
        again = load_network(tmp_path, head, options=options).eval()
        assert (tmp_path / "adapter").exists() is not merge
        for batch, answer in zip(batches(head), said, strict=True):
            torch.testing.assert_close(again(batch), answer, rtol=1e-4, atol=1e-4)


def test_a_head_learns_at_the_top_rate_whatever_its_task_is_called(tiny: Callable[[str], str]) -> None:
    network = network_of(tiny("bert"), HEADS["bert"], layer_decay=0.5)
    rates = {
        id(parameter): group["lr"]
        for group in network.parameter_groups(learning_rate=1.0, weight_decay=0.1)
        for parameter in group["params"]
    }
    words = network.model.embeddings.word_embeddings.weight
    assert {rates[id(each)] for each in network.heads.parameters() if each is not words} == {1.0}
    assert rates[id(words)] < 0.3


def test_layers_that_classify_together_are_spared_alike(tiny: Callable[[str], str]) -> None:
    alike = network_of(tiny("bert"), joined(one=SORT, two=SORT))
    mixed = network_of(tiny("bert"), HEADS["bert"])
    assert "forward" in vars(alike.model.encoder.layer[-1])
    assert "forward" not in vars(mixed.model.encoder.layer[-1])  # tags are read at every place


@pytest.mark.parametrize(
    ("architecture", "kind", "said"),
    [
        ("electra", "replaced_tokens", "a head of kind replaced_tokens cannot share its layers with others; train it"),
        ("bert", "causal_lm", "model: a bert model sees the tokens that task causal_lm asks it to predict"),
        ("gpt2", "masked_lm", "model.name: the weights of"),
    ],
)
def test_what_a_task_cannot_have_is_refused_with_its_name(
    tiny: Callable[[str], str], architecture: str, kind: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"task.tasks.words: {said}")):
        network_of(tiny(architecture), joined(sort=SORT, words=language(kind)))
