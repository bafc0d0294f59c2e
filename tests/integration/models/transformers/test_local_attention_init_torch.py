"""A new encoder may begin with heads that look at neighbours, and at how often each token comes: it learns sooner."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from burnish.errors import ConfigError
from burnish.models.transformer import Transformer
from burnish.spec.values import HeadSpec, Objective, Profile
from burnish.tasks.language_modeling.task import MaskedLm
from tests.language import LINES, table

Tiny = Callable[[str], str]
MASKED = HeadSpec("masked_lm", 0, Objective("cross_entropy"), answer="likelihood")
SIZE = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}


def begun(tokenizer: str, start: str, architecture: str = "bert", **size: int) -> tuple[Transformer, Any]:
    options = {"pretrained": False, "architecture": architecture, "tokenizer": tokenizer, "size": SIZE | size}
    model = Transformer.model_validate({**options, "start": start, "attention": "eager", "dropout": 0.0})
    torch.manual_seed(0)
    return model, model.network(MASKED, model.assets())


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_heads_of_the_lower_layers_look_one_and_then_two_places_away(tiny: Tiny, architecture: str) -> None:
    _, network = begun(tiny(architecture), "neighbours", architecture, num_hidden_layers=4)
    with torch.no_grad():
        *lower, third, fourth = network.model(torch.arange(20, 40)[None], output_attentions=True).attentions
    # The second layer reads what the first has mixed, of which the position is but a part.
    for places, share, attention in zip(((-1, 1), (-2, 2)), (0.9, 0.6), lower, strict=True):
        for head, place in enumerate(places):
            looked_at = attention[0, head, 3:-3].argmax(dim=-1) - torch.arange(3, 17)
            assert (looked_at == place).float().mean() > share, (place, looked_at)
    assert max(third.max(), fourth.max()) < 0.1, "a twentieth each, but for chance"


@pytest.mark.parametrize("architecture", ["gpt2", "distilbert", "electra"])
def test_models_built_otherwise_are_refused(tiny: Tiny, architecture: str) -> None:
    head = HeadSpec("sequence_classification", 2, Objective("cross_entropy"), ("no", "yes"))
    model = Transformer(pretrained=False, name=tiny(architecture), start="neighbours")
    with pytest.raises(ConfigError, match=f"model.start: .* this {architecture} is not"):
        model.network(head, model.assets())


def test_a_new_output_begins_at_how_often_each_token_comes(tiny: Tiny) -> None:
    model, network = begun(tiny("bert"), "usual")
    encoder = MaskedLm(max_length=24).encoder(Profile("likelihood"), model.assets())
    features = encoder.encode(table())
    counts = encoder.counts(features)  # type: ignore[attr-defined]  # of a masked language model
    ids = [each for text in LINES for each in model.assets().tokenizer.encode(text, add_special_tokens=False).ids]
    np.testing.assert_array_equal(counts, np.bincount(ids, minlength=len(counts)))
    network.expect(counts)
    expected = np.log((counts + 1) / (counts + 1).sum())
    np.testing.assert_allclose(network.model.get_output_embeddings().bias.detach(), expected, rtol=1e-5)
    assert network.model.get_output_embeddings().bias is network.model.cls.predictions.bias


def test_an_output_that_was_read_from_a_file_is_left_alone(tiny: Tiny, tmp_path: Any) -> None:
    model, network = begun(tiny("bert"), "usual")
    model.save(network, tmp_path)
    model.assets().save(tmp_path)
    again = Transformer(name=str(tmp_path))
    read = again.network(MASKED, again.assets())
    before = read.model.get_output_embeddings().bias.clone()
    read.expect(np.arange(before.numel()))
    assert torch.equal(read.model.get_output_embeddings().bias, before)


def test_what_stands_beside_a_hidden_token_is_learned_sooner(tiny: Tiny) -> None:
    usual, sooner = (_loss_after(begun(tiny("bert"), start)[1], steps=60) for start in ("usual", "neighbours"))
    assert sooner < 0.75 * usual, (sooner, usual)


def _loss_after(network: Any, *, steps: int) -> float:
    """Learn texts where each token is told by the one before it: 40 tokens, each followed by 7 numbers on."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3)
    generator, losses = torch.Generator().manual_seed(1), []
    for _ in range(steps):
        first = torch.randint(0, 40, (16, 1), generator=generator)
        ids = 10 + (first + 7 * torch.arange(24)) % 40
        scored = torch.rand(ids.shape, generator=generator) < 0.15
        batch = {"input_ids": ids.masked_fill(scored, 4), "attention_mask": torch.ones_like(ids), "scored": scored}
        loss = torch.nn.functional.cross_entropy(network(batch), ids[scored])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return float(np.mean(losses[-10:]))


def test_the_start_is_the_same_each_time(tiny: Tiny) -> None:
    first, again = (begun(tiny("bert"), "neighbours")[1].state_dict() for _ in range(2))
    assert all(torch.equal(first[name], again[name]) for name in first)
