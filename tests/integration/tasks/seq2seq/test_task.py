"""Sequence to sequence passes the exam, and learns a language that is another one read backwards."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from tests.integration.tasks.exam import TaskExam
from tests.project import BAD, GOOD, PLAIN


def sentence(draw: random.Random) -> dict[str, str]:
    words = draw.choices([*PLAIN, *GOOD, *BAD], k=draw.randint(2, 7))
    return {"source": " ".join(words), "target": " ".join(reversed(words[: draw.randint(1, 4)]))}


class TestSeq2Seq(TaskExam):
    """The first words of a text, backwards."""

    waits = ("_local_scalar_dense", "index")
    family = "t5"
    sections = """\
task: {{type: seq2seq, prefix: "film ", max_length: 12, max_target_length: 6}}
data: {{train: {root}/train.jsonl, validation: {root}/dev.jsonl}}
"""
    refusals = (r"dev\.jsonl:2: target is empty", r"dev\.jsonl:3: source is empty")
    asked = ({"source": "a good film"}, {"source": "film"})

    @staticmethod
    def write(root: Path) -> None:
        draw = random.Random(0)
        rows = [sentence(draw) for _ in range(80)]
        for name, part in (("train", rows[:56]), ("dev", rows[56:])):
            (root / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))

    @staticmethod
    def spoil(root: Path) -> None:
        lines = (root / "dev.jsonl").read_text().splitlines()
        lines[1] = json.dumps({"source": "a film", "target": " "})
        lines[2] = json.dumps({"source": "", "target": "film"})
        (root / "dev.jsonl").write_text("\n".join(lines) + "\n")

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask")}
        return network.model(**inputs, labels=batch["label"]).loss


class TestBart(TestSeq2Seq):
    """The same by a model whose targets begin with the token that ends them, searched by beams."""

    family = "bart"
    sections = TestSeq2Seq.sections.replace("prefix:", "generation: {{num_beams: 3, max_new_tokens: 5}}, prefix:")


class TestMarian(TestSeq2Seq):
    """The same by a model that only translates."""

    family = "marian"
