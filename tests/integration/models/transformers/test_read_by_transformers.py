"""Whatever has an auto class in `transformers` is loaded by it from a saved model, and answers as ours does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from burnish.models.transformer import Transformer
from burnish.spec.values import HeadSpec, Objective

NAMES = ("negative", "neutral", "positive")
CLASSES, NUMBER, SPAN = Objective("cross_entropy"), Objective("mean_squared_error"), Objective("span")
CASES = [
    ("bert", HeadSpec("sequence_classification", 3, CLASSES, NAMES), "SequenceClassification"),
    (
        "roberta",
        HeadSpec("sequence_classification", 3, Objective("binary_cross_entropy"), NAMES),
        "SequenceClassification",
    ),
    ("distilbert", HeadSpec("sequence_classification", 1, NUMBER), "SequenceClassification"),
    ("bert", HeadSpec("token_classification", 3, CLASSES, NAMES), "TokenClassification"),
    ("electra", HeadSpec("question_answering", 2, SPAN), "QuestionAnswering"),
    ("bert", HeadSpec("multiple_choice", 1, CLASSES), "MultipleChoice"),
    ("bert", HeadSpec("masked_lm", 0, CLASSES), "MaskedLM"),
    ("gpt2", HeadSpec("causal_lm", 0, CLASSES), "CausalLM"),
    ("bert", HeadSpec("pretraining", 0, CLASSES), "MaskedLM"),
]
IDS = torch.tensor([[2, 9, 11, 14, 3], [2, 8, 3, 0, 0], [2, 30, 31, 3, 0]])
MASK = (IDS != 0).long()


@pytest.mark.parametrize(("architecture", "head", "auto"), CASES)
def test_logits_are_the_same(
    tmp_path: Path, tiny: Callable[[str], Path], architecture: str, head: HeadSpec, auto: str
) -> None:
    model = Transformer(name=str(tiny(architecture)))
    network = model.network(head, model.assets()).eval()
    model.save(network, tmp_path)
    theirs, report = getattr(transformers, f"AutoModelFor{auto}").from_pretrained(tmp_path, output_loading_info=True)
    assert not report["missing_keys"]
    ours, asked = _ask(network, head.kind)
    assert torch.allclose(ours, _answer(theirs.eval()(**asked), head.kind), rtol=0, atol=1e-5)
    if head.labels:
        assert theirs.config.id2label == dict(enumerate(NAMES))


@torch.inference_mode()
def _ask(network: Any, kind: str) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    if kind == "multiple_choice":
        batch = {"input_ids": IDS[None], "attention_mask": MASK[None]}
        return network({**batch, "choices": torch.ones(1, 3, dtype=torch.bool)}), batch
    batch = {"input_ids": IDS, "attention_mask": MASK}
    found = network({**batch, "scored": MASK.bool()})
    return found["logits"] if kind == "pretraining" else found, batch


def _answer(outputs: Any, kind: str) -> torch.Tensor:
    if kind == "question_answering":
        return torch.stack([outputs.start_logits, outputs.end_logits], dim=-1)[MASK.bool()]
    logits: torch.Tensor = outputs.logits
    return logits if kind in ("sequence_classification", "multiple_choice") else logits[MASK.bool()]
