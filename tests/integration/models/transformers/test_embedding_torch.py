"""Embeddings are those of a plain computation with `transformers`, and so are the losses made of them."""

import json

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from transformers import AutoModel

from burnish.engine.infer_torch import inputs_of
from burnish.engine.losses_torch import Losses
from burnish.errors import ConfigError
from burnish.models.transformer import Transformer
from burnish.spec.values import HeadSpec, Objective
from burnish.testing.tiny_torch import tiny_model

IN_BATCH = {"pooling": "mean", "normalise": True, "temperature": 0.05, "output": "embeddings"}
ARCHITECTURES = ["bert", "distilbert", "roberta", "deberta-v2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = {}

    def make(architecture="bert"):
        if architecture not in made:
            made[architecture] = tiny_model(tmp_path_factory.mktemp(architecture), architecture=architecture)
        return made[architecture]

    return make


def batch_of(*, n=5, length=9, seed=0):
    random = np.random.default_rng(seed)
    ids = torch.tensor(random.integers(5, 60, (n, 2, length)))
    mask = torch.zeros_like(ids)
    for row in range(n):
        mask[row, 0, : random.integers(2, 5)] = 1  # no first text is as long as the rectangle
        mask[row, 1, : random.integers(4, length + 1)] = 1
    return {"input_ids": ids, "attention_mask": mask, "label": torch.zeros(n, dtype=torch.int64)}


def built(folder, options, objective="in_batch"):
    model = Transformer(name=str(folder))
    head = HeadSpec("embedding", 1, Objective(objective), options=options)
    return model.network(head, model.assets()).eval(), head


def plain(folder, batch, *, pooling="mean"):
    model = AutoModel.from_pretrained(folder).eval()
    sides = []
    for side in range(2):
        ids, mask = batch["input_ids"][:, side], batch["attention_mask"][:, side]
        hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
        mean = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        sides.append(hidden[:, 0] if pooling == "cls" else mean)
    return sides


def ours(network, head, batch):
    losses = Losses(head.objective, head.terms, torch.device("cpu"))
    return losses.total(network(inputs_of(batch)), batch, weights=losses.weights(batch))


@torch.no_grad()
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_loss_of_a_batch_is_that_of_a_plain_computation(folder, architecture):
    network, head = built(folder(architecture), IN_BATCH)
    batch = batch_of()
    asked, given = (F.normalize(each, dim=1) for each in plain(folder(architecture), batch))
    theirs = F.cross_entropy(asked @ given.T / 0.05, torch.arange(5))
    torch.testing.assert_close(ours(network, head, batch), theirs, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_a_third_text_is_a_wrong_answer_to_every_query(folder):
    network, head = built(folder(), IN_BATCH)
    batch, more = batch_of(), batch_of(seed=1)
    three = {name: torch.cat([batch[name], more[name][:, :1]], dim=1) for name in ("input_ids", "attention_mask")}
    asked, given = (F.normalize(each, dim=1) for each in plain(folder(), batch))
    wrong = F.normalize(plain(folder(), more)[0], dim=1)
    theirs = F.cross_entropy(asked @ torch.cat([given, wrong]).T / 0.05, torch.arange(5))
    found = ours(network, head, {**three, "label": torch.full((5,), 3)})
    torch.testing.assert_close(found, theirs, rtol=1e-5, atol=1e-5)


@torch.no_grad()
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_cosine_is_put_on_the_scale_of_the_labels(folder, pooling):
    options = {"pooling": pooling, "normalise": False, "output": "cosine", "scale": [1.0, 5.0]}
    network, head = built(folder(), options, "mean_squared_error")
    batch = {**batch_of(), "label": torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])}
    said = 1 + 4 * F.cosine_similarity(*plain(folder(), batch, pooling=pooling))
    torch.testing.assert_close(network(batch)[:, 0], said, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(ours(network, head, batch), F.mse_loss(said, batch["label"]), rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_one_text_alone_is_embedded_as_beside_another(folder):
    network, _head = built(folder(), {**IN_BATCH, "normalise": False, "temperature": 2.0})
    batch = batch_of()
    one = network({name: values[:, :1] for name, values in batch.items() if name != "label"})
    torch.testing.assert_close(one, network(batch)[:, : one.shape[1]])


def test_weights_that_do_not_fit_are_refused_though_there_is_no_head(folder, tmp_path):
    from safetensors.torch import load_file, save_file

    tiny_model(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    weights.pop(next(name for name in weights if "layer.1.output.dense.weight" in name))
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ConfigError, match=r"layer\.1\.output\.dense\.weight"):
        built(tmp_path, IN_BATCH)


@pytest.mark.parametrize(("pooling", "normalise"), [("mean", True), ("cls", False)])
def test_sentence_transformers_loads_what_was_saved_and_embeds_alike(folder, tmp_path, pooling, normalise):
    network, _head = built(folder(), {**IN_BATCH, "pooling": pooling, "normalise": normalise, "max_length": 7})
    model = Transformer(name=str(folder()))
    model.save(network, tmp_path)
    model.assets().save(tmp_path)
    modules = [each["type"].rpartition(".")[2] for each in json.loads((tmp_path / "modules.json").read_text())]
    assert modules == ["Transformer", "Pooling", *(["Normalize"] if normalise else [])]
    reason = "sentence-transformers is not installed; it is the oracle here"
    theirs = pytest.importorskip("sentence_transformers", reason=reason).SentenceTransformer(str(tmp_path))
    assert theirs.max_seq_length == 7
    texts = ["a good film", "the story is cold and boring and the plot"]
    for text, embedding in zip(texts, theirs.encode(texts), strict=True):
        ids = theirs.tokenizer(text, truncation=True, max_length=7, return_tensors="pt")
        with torch.inference_mode():
            ours = network.embed({name: ids[name] for name in network.inputs if name in ids})
        np.testing.assert_allclose(ours[0].numpy(), embedding, atol=1e-6)
