"""Encoder-decoder models lose and write what `transformers` itself does with them."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from burnish.data.tokens.tokens import TextAssets
from burnish.engine.losses_torch import Losses
from burnish.errors import ConfigError
from burnish.models.transformer import Lora, Size, Transformer
from burnish.spec.values import Profile, RandomKey
from burnish.tasks.seq2seq import Seq2Seq
from burnish.tasks.seq2seq.task import Generation
from burnish.testing.tiny_torch import TEXTS, tiny_model

PROFILE = Profile("generated")
TABLE = pa.table({"source": list(TEXTS), "target": [text[::-1] for text in TEXTS]})
SIZE = Size(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=48)
FROM_NOTHING = ("t5", "mt5", "bart", "marian", "pegasus", "led", "blenderbot")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return lambda family: tiny_model(tmp_path_factory.mktemp("tiny") / family, architecture=family)


def batch_of(assets: TextAssets, task: Seq2Seq, *, is_training: bool) -> dict[str, torch.Tensor]:
    encoder = task.encoder(PROFILE, assets)
    draw = RandomKey(seed=0, epoch=0, is_training=is_training)
    arrays = encoder.collate(encoder.encode(TABLE), np.arange(len(TABLE)), draw)
    return {name: torch.tensor(array) for name, array in arrays.items()}


def new_model(folder: Callable[[str], Path], family: str, **fields: str) -> Transformer:
    own = {"attention_window": "8"} if family == "led" else {}
    tokenizer = str(folder("bert"))  # one that marks its texts as no family of these does
    return Transformer(pretrained=False, architecture=family, tokenizer=tokenizer, size=SIZE, fields={**own, **fields})


@pytest.mark.parametrize("family", FROM_NOTHING)
def test_random_weights_of_any_family_lose_what_transformers_says_and_stop_at_the_tokenizers_end(
    folder: Callable[[str], Path], family: str
) -> None:
    model, task = new_model(folder, family), Seq2Seq(max_length=24, max_target_length=16)
    assets, head = model.assets(), task.head(PROFILE)
    network = model.network(head, assets).eval()
    assert network.model.config.vocab_size == assets.num_ids
    batch = batch_of(assets, task, is_training=True)
    given = {name: batch[name] for name in ("input_ids", "attention_mask")}
    with torch.no_grad():
        theirs = network.model(**given, labels=batch["label"]).loss
        losses = Losses(head.objective, head.terms, torch.device("cpu"))
        mine = losses.total(network(batch), batch, weights=losses.weights(batch))
    assert float(mine) == pytest.approx(float(theirs), rel=1e-5)
    assert network.generation.eos_token_id == assets.tokenizer.token_to_id("[SEP]")


@pytest.mark.parametrize("family", ["t5", "bart", "marian"])
@pytest.mark.parametrize("options", [{}, {"num_beams": 3, "length_penalty": 2.0, "no_repeat_ngram_size": 2}])
def test_it_writes_what_transformers_generates_and_knows_how_likely_that_is(
    folder: Callable[[str], Path], family: str, options: dict[str, Any]
) -> None:
    model = Transformer(name=str(folder(family)))
    task = Seq2Seq(max_length=24, max_target_length=24, generation=Generation(max_new_tokens=9, **options))
    assets = model.assets()
    network = model.network(task.head(PROFILE), assets).eval()
    batch = batch_of(assets, task, is_training=False)
    taken = {name: batch[name] for name in ("input_ids", "attention_mask")}
    with torch.inference_mode():
        answers = network({**taken, "target_ids": batch["target_ids"], "target_mask": batch["target_mask"]})
        theirs = network.model.generate(**taken, max_new_tokens=9, do_sample=False, **options)[:, 1:]
        labels = batch["target_ids"].masked_fill(~batch["target_mask"], -100)
        loss = network.model(**taken, labels=labels).loss
    assert answers.shape == (len(TABLE), 5 + 9)
    eos = network.generation.eos_token_id
    for mine, other in zip(answers[:, 5:].long().tolist(), theirs.tolist(), strict=True):
        whole = other[: other.index(eos) + 1] if eos in other else other
        assert [each for each in mine if each >= 0] == whole
    assert float(answers[:, 0].sum() / answers[:, 1].sum()) == pytest.approx(float(loss), rel=1e-5)
    written = answers[:, 5:].long()
    with torch.inference_mode():
        own = network.model(**taken, labels=written.masked_fill(written < 0, -100)).loss
    told = float((answers[:, 3] * answers[:, 4]).sum() / answers[:, 4].sum())
    assert told == pytest.approx(-float(own), rel=1e-5)


def test_an_answer_does_not_depend_on_what_stands_beside_it(folder: Callable[[str], Path]) -> None:
    model, task = Transformer(name=str(folder("t5"))), Seq2Seq(generation=Generation(num_beams=2, max_new_tokens=6))
    assets = model.assets()
    network = model.network(task.head(PROFILE), assets).eval()
    encoder, ask = task.encoder(PROFILE, assets), RandomKey(seed=0, epoch=0, is_training=False)
    table = pa.table({"source": ["a", *TEXTS]})
    collate = partial(encoder.collate, encoder.encode(table))
    with torch.inference_mode():
        together, alone = (
            network({name: torch.tensor(each) for name, each in collate(np.arange(count), ask).items()})[0]
            for count in (len(table), 1)
        )
    assert torch.equal(together[5:], alone[5:])
    assert together[3:5].tolist() == pytest.approx(alone[3:5].tolist(), rel=1e-4)


def test_the_models_own_way_to_generate_holds_and_is_saved(folder: Callable[[str], Path], tmp_path: Path) -> None:
    head = Seq2Seq().head(PROFILE)
    model = Transformer(name=str(folder("t5")))
    network = model.network(head, model.assets())
    network.model.generation_config.num_beams = 5
    model.save(network, tmp_path / "saved")
    assert model.load(tmp_path / "saved", head).generation.num_beams == 5
    asked = Seq2Seq(generation=Generation(num_beams=2)).head(PROFILE)
    assert model.load(tmp_path / "saved", asked).generation.num_beams == 2


def test_adapters_learn_and_are_merged(folder: Callable[[str], Path], tmp_path: Path) -> None:
    task = Seq2Seq()
    model = Transformer(name=str(folder("t5")), lora=Lora(rank=2))
    assets, head = model.assets(), task.head(PROFILE)
    network = model.network(head, assets)
    names = [name for name, each in network.named_parameters() if each.requires_grad]
    assert names
    assert all("lora" in name for name in names)
    model.save(network, tmp_path / "saved")
    batch = batch_of(assets, task, is_training=True)
    read = model.load(tmp_path / "saved", head)
    with torch.no_grad():
        assert torch.allclose(read.eval()(batch), network.eval()(batch), atol=1e-5)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (partial(new_model, family="mbart"), "needs language codes among its tokens"),
        (partial(new_model, family="bert"), "no network can be made of this config"),
    ],
)
def test_models_that_cannot_are_refused(
    folder: Callable[[str], Path], model: Callable[..., Transformer], said: str
) -> None:
    made = model(folder)
    with pytest.raises(ConfigError, match=said):
        made.network(Seq2Seq().head(PROFILE), made.assets())


def test_a_tokenizer_without_an_end_is_refused(folder: Callable[[str], Path], tmp_path: Path) -> None:
    words = folder("bert")
    text = (words / "tokenizer_config.json").read_text()
    (words / "tokenizer_config.json").write_text(text.replace('"sep_token"', '"other_token"'))
    made = Transformer(pretrained=False, architecture="t5", tokenizer=str(words), size=SIZE)
    with pytest.raises(ConfigError, match="has no token for the end of a text"):
        made.network(Seq2Seq().head(PROFILE), made.assets())
