"""Lean attention is the attention of transformers, with dropout that costs less."""

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from transformers import PreTrainedModel

from burnish.errors import BurnishError
from burnish.models.transformer import Transformer
from burnish.models.transformers.attention_torch import LEAN
from burnish.models.transformers.network_torch import TransformerNetwork
from burnish.spec.noise import Noise, drawing
from burnish.spec.values import HeadSpec

Tiny = Callable[[str], str]
WITH_FUSED = ["bert", "distilbert", "electra", "gpt2", "roberta"]


def _model(tiny: Tiny, head: HeadSpec, *, family: str, attention: str, dropout: float) -> PreTrainedModel:
    torch.manual_seed(0)
    options = Transformer(name=tiny(family), attention=attention, dropout=0.0, attention_dropout=dropout)
    model: PreTrainedModel = options.network(head, options.assets()).model
    return model


def _batch() -> dict[str, torch.Tensor]:
    ids = torch.randint(5, 20, (3, 12), generator=torch.Generator().manual_seed(3))
    mask = torch.ones_like(ids)
    mask[1, 7:] = 0
    return {"input_ids": ids, "attention_mask": mask}


@pytest.mark.parametrize("family", WITH_FUSED)
def test_it_is_chosen_on_a_cpu_and_gives_the_logits_and_gradients_of_plain_attention(
    tiny: Tiny, head: HeadSpec, family: str
) -> None:
    lean = _model(tiny, head, family=family, attention="auto", dropout=1e-9).train()
    plain = _model(tiny, head, family=family, attention="eager", dropout=0.0).train()
    plain.load_state_dict(lean.state_dict())
    assert lean.config._attn_implementation == LEAN
    given, expected = lean(**_batch()).logits, plain(**_batch()).logits
    torch.testing.assert_close(given, expected, atol=1e-5, rtol=1e-5)
    given.square().sum().backward()
    expected.square().sum().backward()
    for one, other in zip(lean.parameters(), plain.parameters(), strict=True):
        if other.grad is not None:
            torch.testing.assert_close(one.grad, other.grad, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("family", WITH_FUSED)
def test_evaluation_is_the_fused_kernels(tiny: Tiny, head: HeadSpec, family: str) -> None:
    lean = _model(tiny, head, family=family, attention="auto", dropout=0.5).eval()
    fused = _model(tiny, head, family=family, attention="sdpa", dropout=0.5).eval()
    fused.load_state_dict(lean.state_dict())
    with torch.inference_mode():
        torch.testing.assert_close(lean(**_batch()).logits, fused(**_batch()).logits, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("family", [*WITH_FUSED, "albert", "deberta-v2"])
def test_dropout_does_not_depend_on_how_a_batch_is_cut(tiny: Tiny, head: HeadSpec, family: str) -> None:
    torch.manual_seed(0)
    options = Transformer(name=tiny(family), dropout=0.3, attention_dropout=0.3)
    network = options.network(head, options.assets()).train()
    whole = answers(network, [0, 1, 2], width=12)
    torch.testing.assert_close(answers(network, [1], width=7), whole[1:2], atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(answers(network, [2, 0], width=12), whole[[2, 0]], atol=1e-6, rtol=1e-5)


def answers(network: TransformerNetwork, rows: list[int], *, width: int) -> torch.Tensor:
    torch.manual_seed(rows[0])  # whose draws must not matter
    batch = _batch()
    batch["input_ids"][batch["attention_mask"] == 0] = network.model.config.pad_token_id  # as GPT-2 finds the end
    with drawing(Noise(np.array(rows), seed=1, step=4)):
        logits = network({name: each[rows, :width] for name, each in batch.items()})
    assert isinstance(logits, torch.Tensor)
    return logits


@pytest.mark.parametrize("noise", [None, Noise(np.arange(3), seed=0, step=0)])
@pytest.mark.parametrize("family", WITH_FUSED)
def test_what_is_computed_again_is_the_same_to_the_bit(
    tiny: Tiny, head: HeadSpec, family: str, noise: Noise | None
) -> None:
    gradients = []
    for is_again in (False, True):
        torch.manual_seed(0)
        options = Transformer(name=tiny(family), dropout=0.3, attention_dropout=0.3)
        network = options.network(head, options.assets()).train()
        if is_again:
            network.recompute()
        torch.manual_seed(5)
        with drawing(copy.deepcopy(noise)):
            network(_batch()).square().sum().backward()
        gradients.append([param.grad for param in network.parameters() if param.grad is not None])
    assert network.model.is_gradient_checkpointing
    assert all(map(torch.equal, *gradients))


def test_an_attention_that_transformers_does_not_know_is_refused(tiny: Tiny, head: HeadSpec) -> None:
    options = Transformer(name=tiny("bert"), attention="flash_attention_9")
    with pytest.raises(BurnishError, match="flash_attention_9"):
        options.network(head, options.assets())
    with pytest.raises(ValidationError, match="code from the hub, only with `trust_remote_code`"):
        Transformer(name=tiny("bert"), attention="someone/kernel")


def test_training_drops_attention_at_random_and_repeatably(tiny: Tiny, head: HeadSpec) -> None:
    model = _model(tiny, head, family="bert", attention="auto", dropout=0.5).train()
    outs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        outs.append(model(**_batch()).logits)
    assert torch.equal(outs[0], outs[1])
    assert not torch.equal(outs[0], outs[2])


def test_the_mean_over_draws_is_near_the_attention_without_dropout(tiny: Tiny, head: HeadSpec) -> None:
    from burnish.models.transformers.attention_torch import lean_attention

    torch.manual_seed(0)
    query, key, value = (torch.randn(1, 2, 6, 4) for _ in range(3))
    module = torch.nn.Module()
    module.is_causal = False  # type: ignore[assignment]  # as the layers of transformers say
    exact, _ = lean_attention(module, query, key, value, None, dropout=0.0)
    draws = torch.stack([lean_attention(module, query, key, value, None, dropout=0.3)[0] for _ in range(3_000)])
    error = draws.std(dim=0) / 3_000**0.5
    assert bool(((draws.mean(dim=0) - exact).abs() < 5 * error + 1e-6).all())


@pytest.mark.parametrize("family", ["xlnet", "deberta-v2"])
def test_a_model_without_the_fused_kernel_keeps_its_own(tiny: Tiny, head: HeadSpec, family: str) -> None:
    options = Transformer(name=tiny(family))
    assert options.network(head, options.assets()).model.config._attn_implementation == "eager"


def test_what_was_asked_for_is_taken(tiny: Tiny, head: HeadSpec) -> None:
    for asked in ("eager", "sdpa"):
        assert _model(tiny, head, family="bert", attention=asked, dropout=0.1).config._attn_implementation == asked
