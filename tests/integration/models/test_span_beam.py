"""The beam head learns and answers as transformers' own XLNet, XLM and Flaubert do, on any encoder."""

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModel, XLNetForQuestionAnswering
from transformers.models.xlnet.modeling_xlnet import (
    XLNetPoolerAnswerClass,
    XLNetPoolerEndLogits,
    XLNetPoolerStartLogits,
)

from burnish.engine.infer_torch import Autocast, Inference, inputs_of
from burnish.engine.losses_torch import Losses
from burnish.models.transformer import Transformer
from burnish.models.transformers.span_beam_torch import NO_BEAM
from burnish.spec.values import HeadSpec, Objective, Term
from burnish.testing.tiny_torch import tiny_model

OPTIONS = {"start_n_top": 3, "end_n_top": 2, "max_answer": 5}
HEAD = HeadSpec(
    "question_answering_beam",
    2,
    Objective("span"),
    terms=(Term("impossible", "impossible", Objective("binary_cross_entropy"), weight=0.5),),
    options=OPTIONS,
)
CPU = Autocast(torch.device("cpu"))


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    def make(architecture):
        model = Transformer(name=str(folder_of(architecture, tmp_path_factory.mktemp(architecture))))
        torch.manual_seed(0)
        return model, model.network(HEAD, model.assets()).eval()

    return make


def folder_of(architecture, folder):
    """Make a tiny model; XLM and Flaubert, whose own tokenizers are slow ones, borrow that of BERT."""
    if architecture not in ("xlm", "flaubert"):
        return tiny_model(folder, architecture=architecture)
    tiny_model(folder)
    tokens = AutoConfig.from_pretrained(folder).vocab_size
    size = {"emb_dim": 32, "n_layers": 2, "n_heads": 2, "max_position_embeddings": 64, "n_words": tokens, "n_langs": 1}
    AutoModel.from_config(AutoConfig.for_model(architecture, **size, pad_token_id=0)).save_pretrained(folder)
    return folder


def inputs(*, n=4, length=9, seed=0):
    random = np.random.default_rng(seed)
    ids = torch.tensor(random.integers(8, 60, (n, length)))
    mask = torch.ones_like(ids)
    mask[0, :2] = 0  # padding stands on the left, as XLNet wants it
    return {"input_ids": ids, "attention_mask": mask}


def taught(batch):
    """Add what training needs: the last place stands for no answer, which is the truth of the third row."""
    n, length = batch["input_ids"].shape
    scored = batch["attention_mask"] == 1
    scored[:, 2:4] = False
    label = torch.tensor([[4, 6], [5, 5], [length - 1, length - 1], [6, 7]])[:n]
    null = torch.full((n,), length - 1)
    more = {"scored": scored, "label": label, "start_place": label[:, 0], "null_place": null}
    return {**batch, **more, "impossible": (label[:, :1] == length - 1).float()}


def asked(batch):
    """Add what answering needs: token number i covers the characters from 10 i to 10 i + 5."""
    known = taught(batch)
    n, length = batch["input_ids"].shape
    begins = (torch.arange(length) * 10).expand(n, length)
    characters = torch.stack([begins, begins + 5], dim=2).clone()
    characters[:, -1] = -1
    return {**batch, "allowed": known["scored"], "null_place": known["null_place"], "characters": characters}


def loss(network, batch):
    losses = Losses(HEAD.objective, HEAD.terms, torch.device("cpu"))
    with torch.no_grad():
        return losses.total(network(inputs_of(batch)), batch, weights=losses.weights(batch))


def theirs(model, batch, **more):
    known = taught(batch)
    with torch.no_grad():
        return model(**batch, cls_index=known["null_place"], p_mask=(~known["scored"]).float(), **more)


OWN = pytest.mark.parametrize("architecture", ["xlnet", "xlm", "flaubert"])
"""Models to which transformers gives such a head itself."""


@OWN
def test_the_loss_is_that_of_transformers(build, architecture):
    _, network = build(architecture)
    batch = taught(inputs())
    label = batch["label"]
    wanted = theirs(
        network.model,
        inputs(),
        start_positions=label[:, 0].clone(),
        end_positions=label[:, 1].clone(),
        is_impossible=batch["impossible"][:, 0],
    ).loss
    torch.testing.assert_close(loss(network, batch), wanted, rtol=1e-5, atol=1e-5)


@OWN
def test_the_beams_are_those_of_transformers(build, architecture):
    _, network = build(architecture)
    layers = getattr(network.model, "qa_outputs", network.model)
    layers.start_n_top, layers.end_n_top = OPTIONS["start_n_top"], OPTIONS["end_n_top"]
    wanted = theirs(network.model, inputs())
    found = torch.tensor(Inference(network, CPU, HEAD).infer({k: v.numpy() for k, v in asked(inputs()).items()}))
    torch.testing.assert_close(found[:, 0], wanted.cls_logits, rtol=1e-5, atol=1e-5)
    beams = found[:, 1:].view(4, 3, 2, 3)
    scores = wanted.start_top_log_probs[:, :, None].log() + wanted.end_top_log_probs.view(4, 2, 3).mT.log()
    firsts = wanted.start_top_index[:, :, None].expand(4, 3, 2)
    lasts = wanted.end_top_index.view(4, 2, 3).mT
    is_span = (lasts >= firsts) & (lasts - firsts < OPTIONS["max_answer"]) & (firsts < 8) & (lasts < 8)
    assert 0 < is_span.sum() < is_span.numel()
    torch.testing.assert_close(beams[..., 0], scores.masked_fill(~is_span, NO_BEAM), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(beams[..., 1][is_span], firsts[is_span] * 10.0)
    torch.testing.assert_close(beams[..., 2][is_span], lasts[is_span] * 10.0 + 5)


@pytest.mark.parametrize("architecture", ["bert", "distilbert", "electra", "roberta", "albert", "deberta-v2"])
def test_any_encoder_bears_the_head(build, architecture):
    _, network = build(architecture)
    config, batch = network.model.config, taught(inputs())
    config.layer_norm_eps = getattr(config, "layer_norm_eps", 1e-12)
    starts, ends, whole = XLNetPoolerStartLogits(config), XLNetPoolerEndLogits(config), XLNetPoolerAnswerClass(config)
    for layer, name in ((starts, "start_logits"), (ends, "end_logits"), (whole, "answer_class")):
        layer.load_state_dict(getattr(network.model, name).state_dict())
    mask, label = (~batch["scored"]).float(), batch["label"]
    with torch.no_grad():
        hidden = network.model.base_model(**inputs()).last_hidden_state
        first = starts(hidden, p_mask=mask)
        last = ends(hidden, start_positions=label[:, 0], p_mask=mask)
        sure = whole(hidden, start_positions=label[:, 0], cls_index=batch["null_place"])
    entropy = torch.nn.functional.cross_entropy
    wanted = (entropy(first, label[:, 0]) + entropy(last, label[:, 1])) / 2
    wanted += 0.5 * torch.nn.functional.binary_cross_entropy_with_logits(sure, batch["impossible"][:, 0])
    torch.testing.assert_close(loss(network, batch), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("architecture", ["xlnet", "xlm", "bert"])
def test_a_saved_head_answers_as_before(build, architecture, tmp_path):
    options, network = build(architecture)
    options.save(network, tmp_path)
    again = options.load(tmp_path, HEAD).eval()
    batch = {name: tensor.numpy() for name, tensor in asked(inputs()).items()}
    before, after = (Inference(each, CPU, HEAD).infer(batch) for each in (network, again))
    np.testing.assert_array_equal(before, after)


def test_transformers_itself_loads_what_an_xlnet_learned(build, tmp_path):
    options, network = build("xlnet")
    options.save(network, tmp_path)
    model, report = XLNetForQuestionAnswering.from_pretrained(tmp_path, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    torch.testing.assert_close(model.end_logits.dense_0.weight, network.model.end_logits.dense_0.weight)


def test_the_encoder_keeps_its_weights(build):
    options, network = build("bert")
    plain = options.network(HeadSpec("question_answering", 2, Objective("span")), options.assets())
    for name, tensor in plain.model.base_model.state_dict().items():
        torch.testing.assert_close(network.model.base_model.state_dict()[name], tensor)


def test_a_text_shorter_than_the_beam_has_fewer_answers(build):
    _, network = build("bert")
    batch = {"input_ids": torch.tensor([[9, 10]]), "attention_mask": torch.ones(1, 2, dtype=torch.int64)}
    batch |= {"allowed": torch.ones(1, 2, dtype=torch.bool), "null_place": torch.tensor([0])}
    batch["characters"] = torch.tensor([[[-1, -1], [0, 4]]])
    with torch.no_grad():
        found = network(batch)
    assert found.shape == (1, 1 + 3 * 3 * 2)
    assert (found[0, 1::3] > NO_BEAM).sum() == 1
