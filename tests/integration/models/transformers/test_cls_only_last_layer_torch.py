"""A classifier that reads one token gets the same answer from less work."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from burnish.models.transformer import Lora, Transformer
from burnish.models.transformers.cls_only_last_layer_torch import answer_from_first_token
from burnish.models.transformers.network_torch import TransformerNetwork
from burnish.spec.values import HeadSpec, Objective

Tiny = Callable[[str], str]
OF_BERTS_KIND = ["bert", "electra", "roberta"]
OTHERS = ["albert", "deberta-v2", "distilbert", "gpt2", "xlnet"]


def _network(name: str, head: HeadSpec, **options: object) -> TransformerNetwork:
    torch.manual_seed(0)
    model = Transformer(name=name, dropout=0.0, **options)  # type: ignore[arg-type]  # options of several types
    return model.network(head, model.assets())


def _batch() -> dict[str, torch.Tensor]:
    ids = torch.randint(5, 20, (3, 12), generator=torch.Generator().manual_seed(3))
    mask = torch.ones_like(ids)
    mask[1, 7:] = 0
    return {"input_ids": ids, "attention_mask": mask}


def _is_short(network: TransformerNetwork) -> bool:
    with torch.inference_mode():
        states = network.model.base_model(**_batch()).last_hidden_state
    return bool(states.shape[1] == 1)


@pytest.mark.parametrize("family", OF_BERTS_KIND)
def test_logits_and_gradients_are_those_of_the_whole_layer(tiny: Tiny, head: HeadSpec, family: str) -> None:
    short, whole = (_network(tiny(family), head, attention=kind).train() for kind in ("auto", "eager"))
    assert _is_short(short)
    assert not _is_short(whole)
    outs = [network(_batch()) for network in (short, whole)]
    torch.testing.assert_close(outs[0], outs[1], atol=1e-5, rtol=1e-5)
    for out in outs:
        out.square().sum().backward()
    for one, other in zip(short.parameters(), whole.parameters(), strict=True):
        if other.grad is not None:
            torch.testing.assert_close(one.grad, other.grad, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("family", OTHERS)
def test_a_model_that_is_built_otherwise_is_left_alone(tiny: Tiny, head: HeadSpec, family: str) -> None:
    assert not _is_short(_network(tiny(family), head))


def test_a_head_that_reads_every_token_is_noticed_and_left_alone(tiny: Tiny, head: HeadSpec) -> None:
    model = _network(tiny("bert"), head, attention="eager").model
    model.set_attn_implementation("sdpa")
    pooler = model.bert.pooler
    pooler.forward = lambda states: pooler.activation(pooler.dense(states.mean(dim=1)))
    assert not answer_from_first_token(model)
    assert not _is_short(TransformerNetwork(model, head))


@pytest.mark.parametrize("kind", ["token_classification", "question_answering", "multiple_choice", "masked_lm"])
def test_other_heads_get_every_token(tiny: Tiny, kind: str) -> None:
    head = HeadSpec(kind, 2, Objective("cross_entropy"), ("no", "yes"))
    assert not _is_short(_network(tiny("bert"), head))


def test_names_of_weights_stay_and_adapters_learn(tiny: Tiny, head: HeadSpec, tmp_path: Path) -> None:
    plain, adapted = _network(tiny("bert"), head, attention="eager"), _network(tiny("bert"), head, lora=Lora(rank=2))
    assert list(_network(tiny("bert"), head).state_dict()) == list(plain.state_dict())
    adapted(_batch()).square().sum().backward()
    last = {name: p for name, p in adapted.named_parameters() if p.requires_grad and "layer.1." in name}
    assert any(p.grad is not None and float(p.grad.abs().sum()) > 0 for p in last.values())
