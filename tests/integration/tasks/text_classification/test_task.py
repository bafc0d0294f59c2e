"""Text classification passes the exam: classes of texts, and pairs of texts on a scale."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from tests.integration.tasks.exam import TaskExam
from tests.integration.tasks.rows import change_lines, sentence, write_parts
from tests.project import BAD, GOOD

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class TestTextClassification(TaskExam):
    """Telling words give the class away; long texts lose random spans."""

    sections = """\
task: {{type: text_classification, max_length: 9, truncation: {{type: random_spans, span: 2}}}}
data: {{train: {root}/train.jsonl, validation: {root}/dev.jsonl}}
"""
    refusals = (r"dev\.jsonl:2: label 'maybe' is not one of neg, pos", r"dev\.jsonl:3: text is empty")
    asked = ({"text": "a good film"}, {"text": "a dull plot and a cold story"})

    @staticmethod
    def write(root: Path) -> None:
        draw = random.Random(0)
        labels = [draw.choice(("neg", "pos")) for _ in range(88)]
        write_parts(root, [{"text": sentence(draw, GOOD if it == "pos" else BAD), "label": it} for it in labels])

    @staticmethod
    def spoil(root: Path) -> None:
        change_lines(root / "dev.jsonl", {2: {"label": "maybe"}, 3: {"text": " "}})

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return network.model(**{name: batch[name] for name in INPUTS}, labels=batch["label"]).loss


class TestMeanOfTokens(TestTextClassification):
    """The same, told by the mean of the tokens that the encoder gives."""

    sections = TestTextClassification.sections.replace("max_length", "pooling: mean, max_length")

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        hidden = network.model(**{name: batch[name] for name in INPUTS}).last_hidden_state
        real = zip(hidden, batch["attention_mask"].bool(), strict=True)
        means = torch.stack([tokens[there].mean(0) for tokens, there in real])
        logits = means @ network.output.weight.T + network.output.bias
        return torch.nn.functional.cross_entropy(logits, batch["label"])


class TestPairsOnAScale(TaskExam):
    """Two texts are scored by how alike they are."""

    tells_loss = False
    sections = """\
task: {{type: text_classification, pair: other, label: alike, kind: regression, max_length: 24}}
data: {{train: {root}/train.jsonl, validation: {root}/dev.jsonl}}
"""
    refusals = (r"dev\.jsonl:2: label 'much' is not a number", r"dev\.jsonl:3: other is empty")
    asked = ({"text": "a good film", "other": "a fine film"},)

    @staticmethod
    def write(root: Path) -> None:
        draw = random.Random(0)
        pairs = [(draw.choice((GOOD, BAD)), draw.choice((GOOD, BAD))) for _ in range(88)]
        rows = [
            {"text": sentence(draw, one), "other": sentence(draw, two), "alike": str(2.0 * (one is two))}
            for one, two in pairs
        ]
        write_parts(root, rows)

    @staticmethod
    def spoil(root: Path) -> None:
        change_lines(root / "dev.jsonl", {2: {"alike": "much"}, 3: {"other": ""}})

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return network.model(**{name: batch[name] for name in INPUTS}, labels=batch["label"].float()).loss
