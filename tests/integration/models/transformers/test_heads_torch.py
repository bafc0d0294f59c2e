"""Every head answers, and every loss is, what `transformers` gives for the same batch."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import torch

from burnish.engine.infer_torch import Autocast, Inference, inputs_of
from burnish.engine.losses_torch import Losses
from burnish.models.transformer import Transformer
from burnish.spec.values import HeadSpec, Objective
from burnish.testing.tiny_torch import tiny_model

CPU = Autocast(torch.device("cpu"))
ENCODERS = ["bert", "distilbert", "electra", "roberta", "albert", "deberta-v2"]
IGNORED = -100


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    def make(architecture, kind, *, size=3, objective="cross_entropy", **more):
        model = Transformer(name=str(tiny_model(tmp_path_factory.mktemp(architecture), architecture=architecture)))
        head = HeadSpec(kind, size, Objective(objective), **more)
        torch.manual_seed(0)
        return model.network(head, model.assets()).eval(), head

    return make


def tokens(*, n=4, length=9, padded=2, seed=0):
    random = np.random.default_rng(seed)
    ids = torch.tensor(random.integers(5, 60, (n, length)))
    mask = torch.ones_like(ids)
    mask[0, length - padded :] = 0
    return {"input_ids": ids, "attention_mask": mask}


def ours(network, head, batch):
    losses = Losses(head.objective, head.terms, torch.device("cpu"))
    with torch.no_grad():
        return losses.total(network(inputs_of(batch)), batch, weights=losses.weights(batch))


def places(batch, *, share=0.5, classes=3, seed=1):
    random = np.random.default_rng(seed)
    scored = torch.tensor(random.random(batch["input_ids"].shape) < share) & (batch["attention_mask"] == 1)
    label = torch.tensor(random.integers(0, classes, scored.shape)).masked_fill(~scored, IGNORED)
    return {**batch, "scored": scored, "label": label}


@pytest.mark.parametrize("architecture", ENCODERS)
@pytest.mark.parametrize("kind", ["token_classification", "masked_lm"])
def test_losses_at_places_are_those_of_transformers(build, architecture, kind):
    network, head = build(architecture, kind)
    batch = places(tokens())
    given = {name: batch[name] for name in network.inputs if name in batch}
    theirs = network.model(**given, labels=batch["label"]).loss
    torch.testing.assert_close(ours(network, head, batch), theirs, rtol=1e-5, atol=1e-5)


def test_the_loss_of_a_causal_model_is_that_of_transformers(build):
    network, head = build("gpt2", "causal_lm")
    batch = tokens(padded=0)
    theirs = network.model(**batch, labels=batch["input_ids"]).loss
    following = torch.roll(batch["input_ids"], -1, dims=1)
    scored = torch.ones_like(following, dtype=torch.bool)
    scored[:, -1] = False
    batch = {**batch, "scored": scored, "label": following}
    torch.testing.assert_close(ours(network, head, batch), theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("architecture", ENCODERS)
def test_the_loss_of_a_span_is_that_of_transformers(build, architecture):
    network, head = build(architecture, "question_answering", size=2, objective="span")
    batch = tokens(padded=0)
    label = torch.tensor([[0, 3], [2, 2], [1, 8], [5, 7]])
    theirs = network.model(**batch, start_positions=label[:, 0], end_positions=label[:, 1]).loss
    batch = {**batch, "scored": batch["attention_mask"] == 1, "label": label}
    torch.testing.assert_close(ours(network, head, batch), theirs, rtol=1e-5, atol=1e-5)


def test_a_span_is_never_sought_in_padding(build):
    network, head = build("bert", "question_answering", size=2, objective="span")
    label = torch.tensor([[0, 3], [2, 2], [1, 6], [5, 5]])
    short, wide = tokens(padded=0, length=7), tokens(padded=0, length=7)
    wide = {name: torch.nn.functional.pad(tensor, (0, 4)) for name, tensor in wide.items()}
    found = [
        ours(network, head, {**batch, "scored": batch["attention_mask"] == 1, "label": label})
        for batch in (short, wide)
    ]
    torch.testing.assert_close(found[0], found[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("architecture", ["bert", "distilbert", "electra", "roberta", "albert"])
def test_the_loss_of_choices_is_that_of_transformers(build, architecture):
    network, head = build(architecture, "multiple_choice")
    flat = tokens(n=6, length=8)
    batch = {name: tensor.view(2, 3, 8) for name, tensor in flat.items()}
    label = torch.tensor([2, 0])
    theirs = network.model(**batch, labels=label).loss
    batch = {**batch, "choices": torch.ones(2, 3, dtype=torch.bool), "label": label}
    torch.testing.assert_close(ours(network, head, batch), theirs, rtol=1e-5, atol=1e-5)


def test_a_choice_that_is_not_there_counts_for_nothing(build):
    network, _ = build("bert", "multiple_choice")
    batch = {name: tensor.view(2, 3, 8) for name, tensor in tokens(n=6, length=8).items()}
    with torch.no_grad():
        all_there = network({**batch, "choices": torch.ones(2, 3, dtype=torch.bool)})
        some = network({**batch, "choices": torch.tensor([[True, True, False], [True, True, True]])})
    assert some[0, 2] == -torch.inf
    torch.testing.assert_close(some[:, :2], all_there[:, :2], rtol=1e-5, atol=1e-6)


def test_of_a_vocabulary_only_how_likely_the_truth_was_is_kept(build):
    network, head = build("bert", "masked_lm", answer="likelihood", options={"best": 3})
    batch = {name: tensor.numpy() for name, tensor in places(tokens(), classes=40).items()}
    kept = Inference(network, CPU, head).infer(batch)
    scored, labels = batch["scored"], batch["label"][batch["scored"]]
    with torch.no_grad():
        logits = network(inputs_of({name: torch.tensor(array) for name, array in batch.items()})).log_softmax(-1)
    np.testing.assert_allclose(kept[:, 0], -logits.numpy()[np.arange(scored.sum()), labels], rtol=1e-5)
    np.testing.assert_array_equal(kept[:, 1], logits.argmax(-1).numpy() == labels)
    guesses = Inference(network, CPU, head).infer({name: batch[name] for name in batch if name != "label"})
    assert guesses.shape == (scored.sum(), 6)
    np.testing.assert_array_equal(guesses[:, 0], logits.argmax(-1).numpy())
    np.testing.assert_allclose(guesses[:, 3], logits.max(-1).values.numpy(), rtol=1e-5)


def test_threads_that_ask_at_once_get_the_places_they_asked_for(build):
    network, _ = build("bert", "token_classification")
    batches = [inputs_of(places(tokens(), seed=seed)) for seed in (1, 2)]
    with torch.no_grad():
        alone = [network(batch) for batch in batches]
    both = Barrier(2)

    def meet(_module, _inputs):
        both.wait(timeout=30)

    hook = network.model.base_model.register_forward_pre_hook(meet)
    with ThreadPoolExecutor(2) as pool:
        together = [*pool.map(torch.no_grad()(network), batches)]
    hook.remove()
    assert all(torch.equal(*pair) for pair in zip(together, alone, strict=True))
