"""Lean attention is the attention of transformers, with dropout that costs less."""

from collections.abc import Callable

import pytest
import torch
from transformers import PreTrainedModel

from burnish.models.transformer import Transformer
from burnish.models.transformers.attention_torch import LEAN
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
