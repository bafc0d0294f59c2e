"""What a model starts from: a run, one of its checkpoints, with or without its head, and any field of its config."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from burnish.errors import ConfigError
from burnish.models.transformer import Transformer
from burnish.run.build import _partly_read
from burnish.spec.values import HeadSpec, Objective
from burnish.testing.tiny_torch import tiny_model

HEAD = HeadSpec("sequence_classification", 2, Objective("cross_entropy"), labels=("neg", "pos"))
CLASSIFIER = ("classifier.bias", "classifier.weight")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run as training leaves it: an artifact, and checkpoints whose weights are one, two … times as large."""
    root = tmp_path_factory.mktemp("run")
    tiny_model(root / "base")
    network = build(root / "base")
    model = root / "artifact" / "model"
    Transformer(name=str(root / "base")).save(network, model)
    for path in (root / "base").glob("tokenizer*"):
        (model / path.name).write_bytes(path.read_bytes())
    for step in (4, 8):
        folder = root / "checkpoints" / f"step-{step:08d}"
        folder.mkdir(parents=True)
        save_file({name: each * step for name, each in network.state_dict().items()}, folder / "weights.safetensors")
    return root


def build(name: Path, spec: HeadSpec = HEAD, **options: Any) -> Any:
    model = Transformer(name=str(name), **options)
    torch.manual_seed(int(options.get("head") == "new"))
    return model.network(spec, model.assets())


@pytest.mark.parametrize(("checkpoint", "times"), [("best", 1), ("last", 8), (4, 4)])
def test_the_weights_of_a_checkpoint_are_those_that_were_saved(run: Path, checkpoint: Any, times: int) -> None:
    saved = load_file(run / "artifact" / "model" / "model.safetensors")
    network = build(run, checkpoint=checkpoint)
    for name, tensor in network.model.state_dict().items():
        torch.testing.assert_close(tensor, saved[name] * times)
    assert _partly_read(network) == {}


def test_a_head_that_fits_no_longer_is_told_key_by_key(run: Path) -> None:
    three = replace(HEAD, size=3, labels=("a", "b", "c"))
    network = build(run, three, checkpoint="last")
    assert _partly_read(network) == {"new_weights": ", ".join(CLASSIFIER)}


def test_a_new_head_is_drawn_though_the_old_one_fits(run: Path) -> None:
    kept, new = build(run), build(run, head="new")
    assert new.fresh >= {*CLASSIFIER}
    assert not torch.equal(kept.model.classifier.weight, new.model.classifier.weight)
    torch.testing.assert_close(*(each.model.get_input_embeddings().weight for each in (kept, new)))


def test_weights_of_a_file_that_have_no_place_are_told(run: Path) -> None:
    network = build(run, HeadSpec("masked_lm", 1, Objective("cross_entropy")))
    assert {*CLASSIFIER} <= {*_partly_read(network)["unread_weights"].split(", ")}


@pytest.mark.parametrize(
    ("place", "checkpoint", "said"),
    [
        ("", 5, r"has no checkpoint of step 5; there are 4, 8, best and last"),
        ("base", "last", "has no checkpoints; it must be the folder of a run"),
    ],
)
def test_a_checkpoint_that_is_not_there_is_refused(run: Path, place: str, checkpoint: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        build(run / place, checkpoint=checkpoint)


def test_any_field_of_the_config_can_be_set_and_a_slip_is_refused(run: Path) -> None:
    network = build(run, fields={"layer_norm_eps": "1e-3", "classifier_dropout": "0.5", "hidden_act": "relu"})
    config = network.model.config
    assert (config.layer_norm_eps, config.classifier_dropout, config.hidden_act) == (1e-3, 0.5, "relu")
    with pytest.raises(ConfigError, match=r"fields.layer_norm_ep: .* no such field; did you mean layer_norm_eps"):
        build(run, fields={"layer_norm_ep": "1e-3"})
    with pytest.raises(ConfigError, match="do not fit a bert model"):
        build(run, fields={"intermediate_size": "5"})


def test_letters_are_lowered_or_kept_as_asked(run: Path, tmp_path: Path) -> None:
    texts = {}
    for is_lower in (None, True, False):
        assets = Transformer(name=str(run), lower_case=is_lower).assets()
        texts[is_lower] = assets.tokenizer.encode("GOOD film").ids
        assets.save(tmp_path / str(is_lower))
        again = Transformer(name=str(run), tokenizer=str(tmp_path / str(is_lower))).assets()
        assert again.tokenizer.encode("GOOD film").ids == texts[is_lower]
    lowered = Transformer(name=str(run)).assets().tokenizer.encode("good film").ids
    assert texts[True] == lowered
    assert texts[False] != lowered
