"""Networks made from folders: the same logits as transformers, saved and loaded bit for bit, refused in sentences."""

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, AutoTokenizer

from burnish.data.tokens.tokens import TextAssets
from burnish.errors import ConfigError
from burnish.models.transformer import Transformer, usable_positions
from burnish.spec.values import HeadSpec, Objective
from burnish.testing.tiny_torch import ENCODER_DECODERS, FAMILIES, tiny_model

TEXTS = ("A good film!", "the story is cold, and boring to the end")
Tiny = Callable[[str], str]
EVERY = sorted(set(FAMILIES) - ENCODER_DECODERS)


def _padded(assets: TextAssets, texts: tuple[str, ...] = TEXTS) -> Mapping[str, torch.Tensor]:
    """Build a batch by hand, as an encoder would."""
    encodings = assets.tokenizer.encode_batch(list(texts))
    for encoding in encodings:
        encoding.pad(
            max(map(len, encodings)),
            direction=assets.padding_side,
            pad_id=assets.pad_id,
            pad_type_id=assets.pad_type_id,
        )
    batch = {
        "input_ids": torch.tensor([encoding.ids for encoding in encodings]),
        "attention_mask": torch.tensor([encoding.attention_mask for encoding in encodings]),
    }
    if assets.uses_segments:
        batch["token_type_ids"] = torch.tensor([encoding.type_ids for encoding in encodings])
    return batch


def _network(model: Transformer, head: HeadSpec, *, seed: int = 0) -> Any:
    torch.manual_seed(seed)
    return model.network(head, model.assets()).eval()


@pytest.mark.parametrize("architecture", EVERY)
def test_tokens_are_those_of_transformers(tiny: Tiny, architecture: str) -> None:
    assets = Transformer(name=tiny(architecture)).assets()
    theirs = AutoTokenizer.from_pretrained(tiny(architecture))
    for pair in [("A good film!", None), ("a dull plot", "xyz and the cast")]:
        ours = assets.tokenizer.encode(*pair)
        expected = theirs(*pair)
        assert ours.ids == expected["input_ids"]
        assert not assets.uses_segments or ours.type_ids == expected["token_type_ids"]


@pytest.mark.parametrize("architecture", EVERY)
def test_logits_are_those_of_transformers_and_survive_saving(
    tiny: Tiny, head: HeadSpec, architecture: str, tmp_path: Path
) -> None:
    model = Transformer(name=tiny(architecture))
    assets, network = model.assets(), _network(model, head)
    batch = _padded(assets)
    with torch.no_grad():
        ours = network({**batch, "labels": torch.tensor([0, 1]), "row": torch.tensor([5, 6])})
        model.save(network, tmp_path)
        loaded = model.load(tmp_path, head).eval()(batch)
        theirs = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()(**batch).logits
    assert ours.shape == (2, 3)
    assert torch.equal(ours, loaded)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("architecture", EVERY)
def test_the_longest_input_fits_and_one_more_does_not(tiny: Tiny, head: HeadSpec, architecture: str) -> None:
    model = Transformer(name=tiny(architecture))
    limit = model.assets().max_positions
    assert limit == model.max_positions()
    if limit is None:
        return
    network = _network(model, head)
    ids = torch.full((1, limit + 1), 7)
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    with torch.no_grad():
        network({name: value[:, :limit] for name, value in batch.items()})
        with pytest.raises((RuntimeError, IndexError)):
            network(batch)


@pytest.mark.parametrize("model_type", ["camembert", "data2vec-text", "esm", "longformer", "mpnet", "xlm-roberta"])
def test_positions_that_begin_after_the_pad_id_are_not_counted(model_type: str) -> None:
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    config = AutoConfig.for_model(model_type, **size, max_position_embeddings=20, vocab_size=9, pad_token_id=1)
    network = AutoModel.from_config(config).eval()
    limit = usable_positions(config.to_dict())
    assert limit == 18
    network(input_ids=torch.full((1, limit), 7))
    with pytest.raises((RuntimeError, IndexError)):
        network(input_ids=torch.full((1, limit + 1), 7))


def test_new_weights_follow_torchs_generator_alone(tiny: Tiny, head: HeadSpec) -> None:
    model = Transformer(name=tiny("bert"))
    first, second, other = (_network(model, head, seed=seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(first[name], second[name]) for name in first)
    changed = {name for name in first if not torch.equal(first[name], other[name])}
    assert changed == {"model.classifier.weight"}


def test_pretrained_weights_are_those_of_the_file(tiny: Tiny, head: HeadSpec) -> None:
    stored = load_file(Path(tiny("bert"), "model.safetensors"))
    network = _network(Transformer(name=tiny("bert")), head).state_dict()
    assert all(torch.equal(network[f"model.bert.{name}"], value) for name, value in stored.items())


def test_nothing_is_written_to_the_console(tiny: Tiny, head: HeadSpec, tmp_path: Path, capfd: Any) -> None:
    model = Transformer(name=tiny("roberta"))
    model.save(_network(model, head), tmp_path)
    model.load(tmp_path, head)
    assert capfd.readouterr() == ("", "")


def test_labels_and_kind_stand_in_the_saved_config(tiny: Tiny, tmp_path: Path) -> None:
    model = Transformer(name=tiny("bert"))
    head = HeadSpec("sequence_classification", 2, Objective("binary_cross_entropy"), ("warm", "funny"))
    model.save(_network(model, head), tmp_path)
    config = AutoModelForSequenceClassification.from_pretrained(tmp_path).config
    assert config.id2label == {0: "warm", 1: "funny"}
    assert config.problem_type == "multi_label_classification"
    assert str(tiny("bert")) not in (tmp_path / "config.json").read_text()


def test_a_head_for_other_labels_is_replaced(tiny: Tiny, head: HeadSpec, tmp_path: Path) -> None:
    model = Transformer(name=tiny("bert"))
    model.save(_network(model, head), tmp_path / "three")
    model.assets().save(tmp_path / "three")
    two = HeadSpec("sequence_classification", 2, Objective("cross_entropy"), ("no", "yes"))
    assert _network(Transformer(name=str(tmp_path / "three")), two).model.classifier.out_features == 2


@pytest.mark.parametrize("architecture", ["bert", "roberta", "distilbert", "xlnet", "gpt2"])
def test_random_weights_take_the_size_that_was_asked_for(tiny: Tiny, head: HeadSpec, architecture: str) -> None:
    size = {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 24}
    model = Transformer(tokenizer=tiny("bert"), architecture=architecture, pretrained=False, size=size)
    assets, network = model.assets(), _network(model, head)
    assert network.model.config.hidden_size == 16
    assert network.model.config.num_hidden_layers == 3
    assert network.model.config.vocab_size == assets.tokenizer.get_vocab_size()
    assert network(_padded(assets)).shape == (2, 3)


def test_dropout_is_replaced_under_every_name(tiny: Tiny, head: HeadSpec) -> None:
    def dropouts(**options: Any) -> set[float]:
        network = _network(Transformer(name=tiny("distilbert"), **options), head)
        return {module.p for module in network.modules() if isinstance(module, torch.nn.Dropout)}

    assert dropouts(dropout=0.25) == {0.25}
    config = _network(Transformer(name=tiny("gpt2"), dropout=0.25, attention_dropout=0.5), head).model.config
    assert (config.resid_pdrop, config.embd_pdrop, config.attn_pdrop) == (0.25, 0.25, 0.5)


def test_the_attention_that_was_asked_for_is_used(tiny: Tiny, head: HeadSpec) -> None:
    for attention in ("eager", "sdpa"):
        network = _network(Transformer(name=tiny("bert"), attention=attention), head)
        assert network.model.config._attn_implementation == attention


def _copy(source: str, target: Path, *, without: str) -> str:
    shutil.copytree(source, target)
    for path in target.glob(without):
        path.unlink()
    return str(target)


def _refusal(model: Transformer, head: HeadSpec) -> str:
    with pytest.raises(ConfigError) as caught:
        model.network(head, model.assets())
    (problem,) = caught.value.problems
    assert "\n" not in problem.message
    return problem.message


@pytest.mark.parametrize(
    ("without", "sentence"),
    [
        ("model.safetensors", "holds no weights"),
        ("config.json", "holds no config.json"),
        ("tokenizer*", "holds no tokenizer (no tokenizer.json); set model.tokenizer"),
    ],
)
def test_a_folder_that_lacks_a_part_is_refused(
    tiny: Tiny, head: HeadSpec, tmp_path: Path, without: str, sentence: str
) -> None:
    folder = _copy(tiny("bert"), tmp_path / "m", without=without)
    assert sentence in _refusal(Transformer(name=folder), head)


def test_a_folder_with_pickled_weights_is_refused_until_it_is_trusted(
    tiny: Tiny, head: HeadSpec, tmp_path: Path
) -> None:
    folder = _copy(tiny("bert"), tmp_path / "m", without="model.safetensors")
    torch.save(load_file(Path(tiny("bert"), "model.safetensors")), Path(folder, "pytorch_model.bin"))
    assert "has only pickled weights" in _refusal(Transformer(name=folder), head)
    trusted = _network(Transformer(name=folder, allow_pickle_weights=True), head).state_dict()
    safe = _network(Transformer(name=tiny("bert")), head).state_dict()
    assert all(torch.equal(trusted[name], safe[name]) for name in safe)


def test_an_index_cannot_smuggle_a_pickle_in(tiny: Tiny, head: HeadSpec, tmp_path: Path) -> None:
    folder = Path(_copy(tiny("bert"), tmp_path / "m", without="model.safetensors"))
    weights = load_file(Path(tiny("bert"), "model.safetensors"))
    torch.save(weights, folder / "weights.json")
    index = {"metadata": {}, "weight_map": dict.fromkeys(weights, "weights.json")}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "names weights.json, which is not a safetensors file" in _refusal(Transformer(name=str(folder)), head)


@pytest.mark.parametrize("place", ["../other.safetensors", "/ELSEWHERE"])
def test_an_index_does_not_lead_out_of_its_folder(tiny: Tiny, head: HeadSpec, tmp_path: Path, place: str) -> None:
    folder = Path(_copy(tiny("bert"), tmp_path / "m", without="model.safetensors"))
    weights = Path(tiny("bert"), "model.safetensors")
    shutil.copy(weights, tmp_path / "other.safetensors")
    name = str(weights) if place == "/ELSEWHERE" else place
    index = {"metadata": {}, "weight_map": dict.fromkeys(load_file(weights), name)}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "outside of the model's folder" in _refusal(Transformer(name=str(folder)), head)


@pytest.mark.parametrize("key", ["auto_map", "adapter"])
def test_what_a_saved_model_never_has_is_not_followed(tiny: Tiny, head: HeadSpec, tmp_path: Path, key: str) -> None:
    model = Transformer(name=tiny("bert"))
    model.save(_network(model, head), tmp_path)
    trace = tmp_path / "EXECUTED"
    (tmp_path / "strange.py").write_text(f"open({str(trace)!r}, 'w').close()\n")
    config = json.loads((tmp_path / "config.json").read_text())
    odd = {"model_type": "strange", "auto_map": {"AutoConfig": "strange.Config"}} if key == "auto_map" else {}
    (tmp_path / "config.json").write_text(json.dumps({**config, **odd}))
    if key == "adapter":
        (tmp_path / "adapter_config.json").write_text('{"peft_type": "LORA", "base_model_name_or_path": "other/model"}')
    with pytest.raises(ConfigError, match=r"custom code|leads to another model"):
        model.load(tmp_path, head)
    assert not trace.exists()


def test_torn_weights_are_refused(tiny: Tiny, head: HeadSpec, tmp_path: Path) -> None:
    folder = _copy(tiny("bert"), tmp_path / "m", without="nothing")
    weights = Path(folder, "model.safetensors")
    weights.write_bytes(weights.read_bytes()[:1000])
    assert "could not be loaded" in _refusal(Transformer(name=folder), head)


def test_weights_that_do_not_fit_the_config_are_refused(tiny: Tiny, head: HeadSpec, tmp_path: Path) -> None:
    other = tiny_model(tmp_path, hidden=16)
    message = _refusal(Transformer(name=tiny("bert"), config=str(other)), head)
    assert "do not fit a bert model of this config" in message


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(tiny: Tiny, head: HeadSpec, tmp_path: Path) -> None:
    small = tiny_model(tmp_path, texts=["one"])
    assert "tokens and the model only" in _refusal(Transformer(name=str(small), tokenizer=tiny("bert")), head)


def test_an_unknown_architecture_is_refused_with_a_suggestion(tiny: Tiny, head: HeadSpec) -> None:
    model = Transformer(tokenizer=tiny("bert"), pretrained=False, architecture="robertta")
    with pytest.raises(ConfigError, match="did you mean roberta"):
        model.assets()


def test_a_size_that_no_model_can_have_is_refused(tiny: Tiny) -> None:
    model = Transformer(name=tiny("xlnet"), pretrained=False, size={"max_position_embeddings": 12})
    with pytest.raises(ConfigError, match=r"model.size.max_position_embeddings: a xlnet model has no such option"):
        model.assets()
