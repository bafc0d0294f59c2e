"""Several tasks above one encoder pass the exam together."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from burnish.artifact.answering import answer
from burnish.artifact.predictor import Predictor
from burnish.run.result import RunResult
from tests.integration.tasks.exam import TaskExam
from tests.integration.tasks.rows import change_lines
from tests.integration.tasks.several import CONFIG, write_sets

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class TestMulti(TaskExam):
    """Moods of texts, how alike two are, and tags of words."""

    sections = CONFIG.partition("model:")[0]
    refusals = (
        r"task mood: 1 of 24 rows",
        r"mood_dev\.csv:2: label 'sour' is not one of neg, pos",
        r"tag_dev\.jsonl:2: words has \d+ and tags 1 entries",
    )
    asked = ({"text": "a good film"}, {"a": "good", "b": "bad"}, {"words": ["good", "cast"]})

    @staticmethod
    def write(root: Path) -> None:
        write_sets(root)

    @staticmethod
    def spoil(root: Path) -> None:
        lines = (root / "mood_dev.csv").read_text().splitlines()
        lines[1] = lines[1].rpartition(",")[0] + ",sour"
        (root / "mood_dev.csv").write_text("\n".join(lines) + "\n")
        change_lines(root / "tag_dev.jsonl", {2: {"tags": ["O"]}})

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        model = network.heads["task_mood"].model
        return model(**{name: batch[name] for name in INPUTS}, labels=batch["label"]).loss

    def test_the_artifact_answers_as_it_did_when_it_was_saved(self, result: RunResult) -> None:
        golden = json.loads((result.directory / "artifact" / "golden.json").read_text())["tasks"]
        assert list(golden) == ["mood", "alike", "tag"]
        for (name, kept), row in zip(golden.items(), self.asked, strict=True):
            predictor = Predictor.load(result.directory / "artifact", task=name)
            assert len(predictor.predict([row])) == 1
            assert len(kept["outputs"]) == len(kept["rows"]) == 8
            served = json.loads(answer(predictor, json.dumps(kept["rows"]).encode(), format="json").body)
            assert len(served["predictions"]) == 8
