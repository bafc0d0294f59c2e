"""Token classification passes the exam, and tags real words end to end."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from burnish.commands.predict import predict_file
from burnish.metrics.compare import compare
from burnish.metrics.language import Entities
from burnish.run.predicting.predictions import read_outcome
from burnish.run.record.directory import RunDirectory
from burnish.run.record.result import RunResult
from tests.integration.tasks.exam import TaskExam
from tests.project import BAD, GOOD, PLAIN


def sentence(draw: random.Random) -> dict[str, list[str]]:
    words, tags = [], []
    for _ in range(draw.randint(1, 6)):
        word = draw.choice((*GOOD, *BAD, *PLAIN))
        kind = "GOOD" if word in GOOD else "BAD" if word in BAD else None
        words += [word, "plot"] if kind else [word]
        tags += [f"B-{kind}", f"I-{kind}"] if kind else ["O"]
    return {"words": words, "tags": tags}


def write_rows(path: Path, rows: list[dict[str, list[str]]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


class TestTokenClassification(TaskExam):
    """Words that tell good from bad are entities; long sentences are read in windows."""

    waits = ("_local_scalar_dense", "index")
    sections = """\
task: {{type: token_classification, max_length: 9, stride: 3}}
data: {{train: {root}/train.jsonl, validation: {root}/dev.jsonl}}
"""
    refusals = (
        r"dev\.jsonl:2: the tag of word 1 \(a\) is 'B-UGLY', which is not one of O, B-BAD, I-BAD, B-GOOD, I-GOOD",
        r"dev\.jsonl:3: words has 2 and tags 1 entries",
    )
    asked = ({"text": "a good plot, a bad film"}, {"words": ["fine", "plot"]})

    @staticmethod
    def write(root: Path) -> None:
        draw = random.Random(0)
        rows = [sentence(draw) for _ in range(80)]
        write_rows(root / "train.jsonl", rows[:56])
        write_rows(root / "dev.jsonl", rows[56:])

    @staticmethod
    def spoil(root: Path) -> None:
        lines = (root / "dev.jsonl").read_text().splitlines()
        lines[1] = json.dumps({"words": ["a"], "tags": ["B-UGLY"]})
        lines[2] = json.dumps({"words": ["a", "film"], "tags": ["O"]})
        (root / "dev.jsonl").write_text("\n".join(lines) + "\n")

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
        return network.model(**inputs, labels=batch["label"]).loss

    def test_a_file_of_columns_is_tagged(self, result: RunResult, tmp_path: Path) -> None:
        (tmp_path / "new.conll").write_text("a\ngood\nplot\n\nthe\n")
        found = predict_file(str(result.directory), source=str(tmp_path / "new.conll"), out=tmp_path / "out.jsonl")
        assert found.table.num_rows == 2
        rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
        assert [len(row["tags"]) for row in rows] == [3, 1]
        assert all(set(entity) == {"type", "text", "start", "end", "score"} for entity in rows[0]["entities"])

    def test_simple_tags_stand_beside_it_and_runs_can_be_compared(self, result: RunResult) -> None:
        assert set(result.baselines) == {"majority", "dictionary"}
        assert result.baselines["majority"]["f1"].value == 0
        outcome = read_outcome(RunDirectory(result.directory), "validation")
        comparison = compare(outcome, outcome, metric=Entities())
        assert comparison.values == (result.scores["validation"]["f1"].value,) * 2
