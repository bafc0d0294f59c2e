"""Networks of pre-training compute what transformers computes for the same batch."""

import json

import numpy as np
import pytest
import torch
from transformers import AutoModelForPreTraining, XLNetLMHeadModel

from burnish.engine.infer_torch import inputs_of
from burnish.engine.losses_torch import Losses
from burnish.errors import ConfigError
from burnish.models.transformer import Transformer
from burnish.spec.values import HeadSpec, Profile, RandomKey
from burnish.tasks.language_modeling.task import CausalLm, PermutationLm, Pretraining, ReplacedTokens
from burnish.testing.tiny_torch import tiny_model
from tests.language import LINES, table

PROFILE = Profile("likelihood")


@pytest.mark.parametrize("architecture", ["bert", "albert"])
@pytest.mark.parametrize("pairing", ["sentence_order", "next_sentence"])
def test_the_loss_of_pretraining_is_that_of_transformers(tmp_path, architecture, pairing):
    folder = tiny_model(tmp_path, architecture=architecture, texts=LINES)
    model, task = Transformer(name=str(folder)), Pretraining(max_length=24, pairing=pairing)
    assets = model.assets()
    head = task.head(PROFILE)
    torch.manual_seed(0)
    network = model.network(head, assets).eval()
    encoder = task.encoder(PROFILE, assets)
    features = encoder.encode(table())
    arrays = encoder.collate(features, np.arange(features.num_rows), RandomKey(1, 0, is_training=True))
    batch = {name: torch.tensor(array) for name, array in arrays.items()}
    theirs = AutoModelForPreTraining.from_config(network.model.config).eval()
    theirs.load_state_dict(network.model.state_dict())
    told = {name: batch[name] for name in network.inputs if name in batch}
    pair_name = "next_sentence_label" if architecture == "bert" else "sentence_order_label"
    losses = Losses(head.objective, head.terms, torch.device("cpu"))
    with torch.no_grad():
        wanted = theirs(**told, labels=batch["label"], **{pair_name: batch["pair_label"]}).loss
        ours = losses.total(network(inputs_of(batch)), batch, weights=losses.weights(batch))
    torch.testing.assert_close(ours, wanted, rtol=1e-5, atol=1e-5)


def test_a_model_without_an_output_for_pairs_is_refused(tmp_path):
    model = Transformer(name=str(tiny_model(tmp_path, architecture="distilbert", texts=LINES)))
    with pytest.raises(ConfigError, match="no output for pairs"):
        model.network(Pretraining().head(PROFILE), model.assets())


@pytest.mark.parametrize("architecture", ["bert", "xlnet"])
@pytest.mark.parametrize("pretrained", [True, False])
def test_a_model_that_sees_what_follows_is_refused_as_a_causal_one(tmp_path, architecture, pretrained):
    folder = str(tiny_model(tmp_path, architecture=architecture, texts=LINES))
    model = Transformer(name=folder, pretrained=pretrained)
    with pytest.raises(
        ConfigError, match=f"a {architecture} model sees the tokens that task causal_lm asks it to predict"
    ):
        model.network(CausalLm().head(PROFILE), model.assets())


@pytest.mark.parametrize("pretrained", [True, False])
def test_a_causal_model_is_taken_whatever_its_dropout_alone_and_beside_others(tmp_path, pretrained):
    model = Transformer(name=str(tiny_model(tmp_path, architecture="gpt2", texts=LINES)), dropout=0.5)
    model = model.model_copy(update={"pretrained": pretrained})
    alone = CausalLm().head(PROFILE)
    for head in (alone, HeadSpec("several", 0, alone.objective, parts={"one": alone, "two": alone})):
        layers = model.network(head, model.assets()).model.base_model
        assert layers.training != pretrained  # as it was


def made(folder, task):
    """Give a network of a task on a folder's model, its head, and a batch of training rows."""
    model = Transformer(name=str(folder))
    assets, head = model.assets(), task.head(PROFILE)
    torch.manual_seed(0)
    network = model.network(head, assets).eval()
    encoder = task.encoder(PROFILE, assets)
    features = encoder.encode(table())
    arrays = encoder.collate(features, np.arange(features.num_rows), RandomKey(1, 0, is_training=True))
    return network, head, {name: torch.tensor(array) for name, array in arrays.items()}


def loss_of(network, head, batch):
    losses = Losses(head.objective, head.terms, torch.device("cpu"))
    with torch.no_grad():
        return losses.total(network(inputs_of(batch)), batch, weights=losses.weights(batch))


def masked_xlnet(tmp_path):
    """Make a tiny XLNet whose tokenizer has a mask."""
    folder = tiny_model(tmp_path, architecture="xlnet", texts=LINES)
    config = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(config | {"mask_token": "<unk>"}))
    return folder


def test_a_permutation_is_guessed_as_xlnet_does(tmp_path):
    network, head, batch = made(masked_xlnet(tmp_path), PermutationLm(max_length=20))
    assert isinstance(network.model, XLNetLMHeadModel)
    order, scored = batch["order"], batch["scored"]
    n, length = order.shape
    hidden = torch.zeros(n, length, length)
    mapping = torch.zeros(n, int(scored.sum(dim=1).max()), length)
    labels = torch.full(mapping.shape[:2], -100)
    for row in range(n):
        for slot, place in enumerate(scored[row].nonzero().flatten().tolist()):
            mapping[row, slot, place] = 1
            labels[row, slot] = batch["label"][row, place]
        for i in range(length):
            for j in range(length):
                hidden[row, i, j] = float(scored[row, j] and order[row, j] >= order[row, i])
    told = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
    with torch.no_grad():
        theirs = network.model(**told, perm_mask=hidden, target_mapping=mapping, labels=labels).loss
    torch.testing.assert_close(loss_of(network, head, batch), theirs, rtol=1e-5, atol=1e-5)


def test_a_guess_does_not_see_what_is_guessed_later(tmp_path):
    network, _, batch = made(masked_xlnet(tmp_path), PermutationLm(max_length=20))
    with torch.no_grad():
        before = network(inputs_of(batch))
        last = batch["order"] == batch["order"].max(dim=1, keepdim=True).values
        other = {**batch, "input_ids": torch.where(last, batch["input_ids"] - 1, batch["input_ids"])}
        after = network(inputs_of(other))
    torch.testing.assert_close(before, after)
    rank = batch["order"][batch["scored"]]
    first = {**batch, "input_ids": torch.where(batch["order"] == 0, batch["input_ids"] - 1, batch["input_ids"])}
    with torch.no_grad():
        changed = (network(inputs_of(first)) - before).abs().max(dim=1).values > 1e-6
    assert changed[rank > 0].all()
    assert not changed[rank == 0].any()


def electra(tmp_path):
    return tiny_model(tmp_path, architecture="electra", texts=LINES, hidden=32, heads=4)


def test_replaced_tokens_are_told_as_electra_does(tmp_path):
    network, head, batch = made(electra(tmp_path), ReplacedTokens(max_length=20, generator_size=0.5))
    told = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
    with torch.no_grad():
        generator = network.generator(**told, labels=batch["label"])
        torch.manual_seed(7)
        chosen = generator.logits[batch["scored"]].softmax(dim=-1)
        guessed = batch["original"].clone()
        guessed[batch["scored"]] = torch.multinomial(chosen, 1)[:, 0]
        replaced = (guessed != batch["original"]).long()
        theirs = network.model(**{**told, "input_ids": guessed}, labels=replaced).loss
    torch.manual_seed(7)
    torch.testing.assert_close(loss_of(network, head, batch), generator.loss + 50 * theirs, rtol=1e-5, atol=1e-5)
    assert 0 < replaced.sum() <= batch["scored"].sum()


def test_generator_and_model_share_embeddings_and_come_back_from_a_folder(tmp_path):
    network, head, batch = made(electra(tmp_path / "first"), ReplacedTokens(max_length=20, generator_size=0.5))
    shared = network.model.electra.embeddings.word_embeddings.weight
    assert network.generator.generator_lm_head.weight is shared
    assert sum(parameter is shared for parameter in network.parameters()) == 1
    model = Transformer(name=str(tmp_path / "first"))
    (tmp_path / "saved").mkdir()
    model.save(network, tmp_path / "saved")
    again = model.load(tmp_path / "saved", head).eval()
    for seed in (1, 2):
        torch.manual_seed(seed)
        ours = loss_of(network, head, batch)
        torch.manual_seed(seed)
        torch.testing.assert_close(loss_of(again, head, batch), ours)


@pytest.mark.parametrize("task", [PermutationLm(), ReplacedTokens()])
def test_models_that_cannot_are_refused(tmp_path, task):
    model = Transformer(name=str(tiny_model(tmp_path, architecture="roberta", texts=LINES)))
    with pytest.raises(ConfigError, match="cannot"):
        model.network(task.head(PROFILE), model.assets())
