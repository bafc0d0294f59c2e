"""Multiple choice passes the exam, with as many choices as a row has."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from tests.integration.tasks.exam import TaskExam
from tests.project import BAD, GOOD, PLAIN


def question(draw: random.Random, *, num_choices: int) -> dict[str, Any]:
    is_good = draw.random() < 0.5
    right, wrong = (GOOD, BAD) if is_good else (BAD, GOOD)
    label = draw.randrange(num_choices)
    choices = [draw.choice(right if number == label else wrong) for number in range(num_choices)]
    turns = [" ".join(draw.choices(PLAIN, k=draw.randint(1, 4))) for _ in range(draw.randint(1, 3))]
    return {"context": [*turns, draw.choice(right)], "question": "a film", "choices": choices, "label": label}


class TestMultipleChoice(TaskExam):
    """The choice that is as good or bad as the context is right; there are two or three."""

    waits = ("_local_scalar_dense", "index")
    sections = """\
task: {{type: multiple_choice, question: question, max_length: 20}}
data: {{train: {root}/train.jsonl, validation: {root}/dev.jsonl}}
"""
    refusals = (r"dev\.jsonl:2: label '7' is not one of 0 to 1", r"dev\.jsonl:3: choice 2 in choices is empty")
    asked = ({"context": ["a film"], "question": "is", "choices": ["good", "bad", "cold", "warm"]},)

    @staticmethod
    def write(root: Path) -> None:
        draw = random.Random(0)
        # the first rows have three choices each, as one batch of `transformers` must
        rows = [question(draw, num_choices=3 if number < 4 else 2 + number % 2) for number in range(80)]
        for name, part in (("train", rows[:56]), ("dev", rows[56:])):
            (root / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))

    @staticmethod
    def spoil(root: Path) -> None:
        lines = (root / "dev.jsonl").read_text().splitlines()
        lines[1] = json.dumps({"context": ["a"], "question": "is", "choices": ["good", "bad"], "label": 7})
        lines[2] = json.dumps({"context": ["a"], "question": "is", "choices": ["good", ""], "label": 0})
        (root / "dev.jsonl").write_text("\n".join(lines) + "\n")

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        assert batch["choices"].all()
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
        return network.model(**inputs, labels=batch["label"]).loss
