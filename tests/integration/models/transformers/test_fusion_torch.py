"""A text and its columns in one network: the plain computation, every weight learned, and all of it saved."""

import numpy as np
import pytest
import torch
from transformers import AutoModel

from burnish.errors import ConfigError
from burnish.models.transformer import Transformer
from burnish.spec.values import HeadSpec, Objective, TableInputs
from burnish.testing.tiny_torch import tiny_model

INPUTS = TableInputs(("price", "age"), ((0.0, 1.0), (-1.0, 0.0, 2.0)), ("place",), (4,))
OPTIONS = {"pooling": "mean", "numbers": "none", "hidden": [6], "dropout": 0.1}
HEAD = HeadSpec("text_and_columns", 3, Objective("cross_entropy"), inputs=INPUTS, options=OPTIONS)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return Transformer(name=str(tiny_model(tmp_path_factory.mktemp("bert"))))


def network_of(model, head=HEAD):
    torch.manual_seed(0)
    return model.network(head, model.assets()).eval()


def batch_of(n=4, length=7):
    random = np.random.default_rng(0)
    mask = torch.ones(n, length, dtype=torch.int64)
    mask[0, 3:] = 0
    return {
        "input_ids": torch.tensor(random.integers(5, 60, (n, length))),
        "attention_mask": mask,
        "numbers": torch.tensor(random.normal(size=(n, 2)).astype(np.float32)),
        "categories": torch.tensor(random.integers(0, 4, (n, 1))),
    }


@torch.no_grad()
def test_logits_are_those_of_a_plain_computation(model):
    network, batch = network_of(model), batch_of()
    mask = batch["attention_mask"]
    hidden = AutoModel.from_pretrained(model.name).eval()(batch["input_ids"], attention_mask=mask).last_hidden_state
    text = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
    place = network.features.parts["categories"].weight[batch["categories"][:, 0]]
    whole = torch.cat([text, batch["numbers"], place], dim=1)
    expected = network.output(torch.relu(network.layers[0](whole)))
    torch.testing.assert_close(network(batch), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("numbers", ["none", "piecewise_linear", "periodic"])
def test_every_part_learns_and_the_layers_above_at_the_full_rate(model, numbers):
    head = HeadSpec("text_and_columns", 3, HEAD.objective, inputs=INPUTS, options={**OPTIONS, "numbers": numbers})
    network = model.model_copy(update={"layer_decay": 0.5}).network(head, model.assets()).train()
    network(batch_of()).sum().backward()
    above = {name: p for name, p in network.named_parameters() if not name.startswith("model.")}
    assert {name.partition(".")[0] for name in above} == {"features", "layers", "output"}
    assert [name for name, p in above.items() if p.grad is None] == []
    groups = network.parameter_groups(learning_rate=1.0, weight_decay=0.1)
    rates = {id(p): group["lr"] for group in groups for p in group["params"]}
    assert {rates[id(p)] for p in above.values()} == {1.0}
    assert sum(len(group["params"]) for group in groups) == len(list(network.parameters()))


@torch.no_grad()
def test_what_is_saved_comes_back_and_the_encoder_alone_is_a_plain_folder(model, tmp_path):
    network, batch = network_of(model), batch_of()
    model.save(network, tmp_path)
    torch.testing.assert_close(model.load(tmp_path, HEAD).eval()(batch), network(batch), rtol=0, atol=0)
    assert AutoModel.from_pretrained(tmp_path).config.hidden_size == 32


def test_layers_that_are_missing_or_of_another_network_are_refused(model, tmp_path):
    model.save(network_of(model), tmp_path)
    other = HeadSpec("text_and_columns", 2, HEAD.objective, inputs=INPUTS, options=OPTIONS)
    with pytest.raises(ConfigError, match=r"above\.safetensors is of another network: output\.bias"):
        model.load(tmp_path, other)
    (tmp_path / "above.safetensors").unlink()
    with pytest.raises(ConfigError, match="does not hold the layers above its model"):
        model.load(tmp_path, HEAD)
