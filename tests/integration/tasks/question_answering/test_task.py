"""Question answering passes the exam, scores as SQuAD's rules do, and answers in SQuAD's files."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from transformers.models.xlnet.modeling_xlnet import (
    XLNetPoolerAnswerClass,
    XLNetPoolerEndLogits,
    XLNetPoolerStartLogits,
)

from burnish.commands.predict import predict, predict_payload
from burnish.run.record.result import RunResult
from burnish.testing.exams import Examined
from tests import squad_rules as rules
from tests.integration.tasks.exam import TaskExam
from tests.project import BAD, GOOD, PLAIN

TASK = "type: question_answering, max_length: 20, max_question: 5, stride: 4, max_answer: 4"


def paragraph(draw: random.Random, number: int) -> dict[str, Any]:
    """Ask which good word stands in a text; a third of the texts have none."""
    words = draw.choices((*PLAIN, *BAD), k=draw.randint(3, 24))
    question: dict[str, Any] = {"id": f"q{number}", "question": "the good story", "answers": [], "is_impossible": True}
    if number % 3:
        words.insert(draw.randint(0, len(words)), GOOD[number % 4])
        start = len(" ".join(words[: words.index(GOOD[number % 4])]))
        answer = {"text": GOOD[number % 4], "answer_start": start + bool(start)}
        question |= {"answers": [answer], "is_impossible": False}
    return {"context": " ".join(words), "qas": [question]}


def write(root: Path) -> None:
    draw = random.Random(0)
    paragraphs = [paragraph(draw, number) for number in range(90)]
    for name, part in (("train", paragraphs[:62]), ("dev", paragraphs[62:])):
        (root / f"{name}.json").write_text(
            json.dumps({"version": "2.0", "data": [{"title": name, "paragraphs": part}]})
        )


def golds(path: Path) -> dict[str, list[str]]:
    document = json.loads(path.read_text())
    questions = [each for part in document["data"][0]["paragraphs"] for each in part["qas"]]
    return {each["id"]: [answer["text"] for answer in each["answers"]] for each in questions}


class TestQuestionAnswering(TaskExam):
    """The good word of a text is the answer; long texts are read in windows, and some have none."""

    waits = ("_local_scalar_dense", "index")
    sections = f"task: {{{{{TASK}}}}}\ndata: {{{{train: {{root}}/train.json, validation: {{root}}/dev.json}}}}\n"
    refusals = (
        r"dev\.json row 2: question q63: the answer 'splendid' is not in it",
        r"dev\.json row 3: question q64: question is empty",
    )
    asked = ({"question": "the good story", "context": "a dull film with a fine cast"},)

    @staticmethod
    def write(root: Path) -> None:
        write(root)

    @staticmethod
    def spoil(root: Path) -> None:
        document = json.loads((root / "dev.json").read_text())
        question = document["data"][0]["paragraphs"][1]["qas"][0]
        question |= {"answers": [{"text": "splendid", "answer_start": 3}], "is_impossible": False}
        document["data"][0]["paragraphs"][2]["qas"][0]["question"] = " "
        (root / "dev.json").write_text(json.dumps(document))

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
        found = network.model(**inputs)
        scores = [each.masked_fill(~batch["scored"], -torch.inf) for each in (found.start_logits, found.end_logits)]
        # The same sum that the model's own forward makes, of its own scores, over the places that may be answers.
        return sum(torch.nn.functional.cross_entropy(each, batch["label"][:, at]) for at, each in enumerate(scores)) / 2

    def test_the_scores_are_those_of_the_rules_and_the_files_those_of_squad(
        self, examined: Examined, result: RunResult, tmp_path: Path
    ) -> None:
        source, out = examined.root / "dev.json", tmp_path / "answers" / "predictions.json"
        predict_payload(str(result.directory), source.read_bytes(), format="squad", out=out)
        files = {path.name: json.loads(path.read_text()) for path in out.parent.iterdir()}
        assert set(files) == {"predictions.json", "nbest_predictions.json", "null_odds.json"}
        right, said = golds(source), files["predictions.json"]
        own = pq.read_table(result.directory / "predictions" / "validation.parquet")["null_odds"].to_pylist()
        odds = dict(zip(right, own, strict=True))  # of the run itself: a last digit decides whether two are equal
        assert odds == pytest.approx(files["null_odds.json"], abs=1e-5)
        found = {name: score.value for name, score in result.scores["validation"].items()}
        wanted = rules.official(right, said)
        assert found["f1"] == pytest.approx(wanted["f1"], abs=1e-12)
        assert found["exact_match"] == pytest.approx(wanted["exact"], abs=1e-12)
        assert found["has_answer_f1"] == pytest.approx(wanted["HasAns_f1"], abs=1e-12)
        assert found["no_answer_f1"] == pytest.approx(wanted["NoAns_f1"], abs=1e-12)
        best = {name: next(each["text"] for each in found if each["text"]) for name, found in _lists(files)}
        expected = rules.best_with_threshold(right, best, odds, score=rules.overlap)[0]
        assert found["best_f1"] == pytest.approx(expected, abs=1e-12)
        assert found["f1"] == pytest.approx(found["best_f1"], abs=1e-12)  # the threshold was tuned on these rows

    def test_a_question_is_answered_in_words_of_its_text(self, result: RunResult) -> None:
        [one] = predict(str(result.directory), self.asked)
        assert one.answer is not None
        assert {each["text"] for each in one.answer["n_best"]} <= _spans_of(self.asked[0]["context"])


class TestBeam(TestQuestionAnswering):
    """A beam over starts and ends looks for the answer."""

    tells_loss = False
    waits = ("_local_scalar_dense", "index", "repeat_interleave")
    sections = TestQuestionAnswering.sections.replace("max_answer: 4", "max_answer: 4, search: beam")

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Let XLNet's own layers, with the same weights, judge what the encoder says."""
        config, model = network.model.config, network.model
        layers = [XLNetPoolerStartLogits(config), XLNetPoolerEndLogits(config), XLNetPoolerAnswerClass(config)]
        for layer, name in zip(layers, ("start_logits", "end_logits", "answer_class"), strict=True):
            layer.load_state_dict(getattr(model, name).state_dict())
        inputs = {name: batch[name] for name in ("input_ids", "attention_mask", "token_type_ids")}
        hidden, closed = model.base_model(**inputs).last_hidden_state, (~batch["scored"]).float()
        starts, ends = batch["label"].unbind(dim=1)
        entropy = torch.nn.functional.cross_entropy
        found = entropy(layers[0](hidden, p_mask=closed), starts)
        found += entropy(layers[1](hidden, start_positions=starts, p_mask=closed), ends)
        sure = layers[2](hidden, start_positions=starts, cls_index=batch["null_place"])
        judged = torch.nn.functional.binary_cross_entropy_with_logits(sure, batch["impossible"][:, 0])
        return found / 2 + 0.5 * judged


def _lists(files: Mapping[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    return list(files["nbest_predictions.json"].items())


def _spans_of(text: str) -> set[str]:
    words = text.split()
    return {" ".join(words[a:b]) for a in range(len(words)) for b in range(a + 1, len(words) + 1)}
