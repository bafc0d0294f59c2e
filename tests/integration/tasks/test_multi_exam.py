"""Several tasks above one encoder pass the exam together, whatever their kinds."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from burnish.artifact.answering import answer
from burnish.artifact.predictor import Predictor
from burnish.commands.compare.comparison import compare
from burnish.commands.evaluate import evaluate
from burnish.commands.predict import predict, predict_payload
from burnish.commands.prepare import prepare
from burnish.dist.world import Solo
from burnish.errors import DataError
from burnish.models.transformers.layers_torch import names_below
from burnish.run.build import build_learner, build_stream
from burnish.run.preparation.prepared_data import PreparedData
from burnish.run.record.result import RunResult
from burnish.spec.parts import ALONE
from burnish.spec.values import RandomKey, Score
from burnish.testing.exams import Examined
from tests import squad_rules as rules
from tests.integration.tasks import test_fused_exam as fused
from tests.integration.tasks import test_language_exam as language
from tests.integration.tasks.exam import TaskExam
from tests.integration.tasks.question_answering import test_task as questions
from tests.integration.tasks.rows import change_lines
from tests.integration.tasks.several import CONFIG, write_sets
from tests.project import write_rows

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_ALONE_SCORED = ("likelihood", "retrieval")
"""Kinds of outcomes whose rows cannot be held side by side."""


class TestMulti(TaskExam):
    """Moods of texts, how alike two are, and tags of words."""

    tells_loss = False

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

    def test_the_loss_is_the_mean_of_those_of_the_tasks(self, examined: Examined, result: RunResult) -> None:
        scores = {name: score.value for name, score in result.scores["validation"].items()}
        losses = [scores.get(f"{name}/log_loss", scores.get(f"{name}/r2")) for name in examined.experiments]
        if None in losses:  # a beam and hidden words tell none of the two
            assert "loss" not in scores
        else:
            told = [scores.get(f"{name}/log_loss", 1 - scores.get(f"{name}/r2", 0)) for name in examined.experiments]
            assert scores["loss"] == pytest.approx(sum(told) / len(told))

    def test_gradients_are_those_of_each_task_alone(self, examined: Examined) -> None:
        joint = build_learner(examined.resolved.experiment, examined.prepared, Solo())
        for name, part in examined.prepared.parts.items():
            alone = build_learner(examined.experiments[name], PreparedData({ALONE: part}), Solo())
            pairs = together(alone.network, joint.network, task=name)
            with torch.no_grad():
                for theirs, ours in pairs:
                    theirs.copy_(ours)
            batch = part.collate("train")(np.arange(8), RandomKey(seed=0, epoch=0, is_training=True))
            own = {entry: array for entry, array in batch.items() if entry != "group"}
            losses = [each.step([given], step=0, factor=0.0).loss for each, given in ((joint, batch), (alone, own))]
            assert losses[0] == pytest.approx(losses[1], abs=1e-5), name
            for theirs, ours in pairs:
                torch.testing.assert_close(gradient(ours), gradient(theirs), rtol=1e-4, atol=1e-6)

    def test_data_that_was_prepared_gives_the_same_batches(self, examined: Examined, tmp_path: Path) -> None:
        written = prepare(str(examined.root / "experiment.yaml"), out=tmp_path / "ready")
        again = Examined.read(examined.root, written.override)
        assert set(written.rows) == {
            f"{name}/{split}" for name in again.experiments for split in ("train", "validation")
        }
        assert json.dumps(asdict(again.prepared.profile)) == json.dumps(asdict(examined.prepared.profile))
        streams = [build_stream(each.resolved.experiment, each.prepared, Solo()) for each in (examined, again)]
        for _ in range(streams[0].batches_in(0)):
            mine, theirs = (
                each.prepared.collate("train")(stream.draw().indices, RandomKey(seed=0, epoch=1, is_training=True))
                for each, stream in zip((examined, again), streams, strict=True)
            )
            assert list(mine) == list(theirs)
            assert all(np.array_equal(mine[entry], theirs[entry], equal_nan=True) for entry in mine)

    def test_runs_are_compared_task_by_task(self, examined: Examined, result: RunResult, tmp_path: Path) -> None:
        again = tmp_path / "again"
        shutil.copytree(result.directory, again, ignore=shutil.ignore_patterns("checkpoints", "artifact"))
        mean, *verdicts = compare([result.directory, again]).verdicts
        can_tell = all(part.profile.kind not in _ALONE_SCORED for part in examined.prepared.parts.values())
        assert mean.sentence.startswith("mean on validation: no significant difference") == can_tell
        verdicts = verdicts if can_tell else [mean, *verdicts]
        assert [verdict.task for verdict in verdicts] == list(examined.experiments)
        for verdict, part in zip(verdicts, examined.prepared.parts.values(), strict=True):
            is_told = part.profile.kind not in _ALONE_SCORED
            assert (verdict.p_value == 1.0) if is_told else verdict.p_value is None
            assert is_told == ("no significant difference" in verdict.sentence)

    def test_the_artifact_answers_as_it_did_when_it_was_saved(self, examined: Examined, result: RunResult) -> None:
        golden = json.loads((result.directory / "artifact" / "golden.json").read_text())["tasks"]
        assert list(golden) == list(examined.experiments)
        for (name, kept), row in zip(golden.items(), self.asked, strict=True):
            predictor = Predictor.load(result.directory / "artifact", task=name)
            assert len(predictor.predict([row])) == 1
            assert len(kept["outputs"]) == len(kept["rows"]) == 8
            served = json.loads(answer(predictor, json.dumps(kept["rows"]).encode(), format="json").body)
            assert len(served["predictions"]) == 8

    def test_the_artifact_describes_what_it_takes_and_what_it_answers(
        self, examined: Examined, result: RunResult
    ) -> None:
        written = json.loads((result.directory / "artifact" / "signature.json").read_text())["tasks"]
        assert list(written) == list(examined.experiments)
        for name, signature in written.items():
            predictor = Predictor.load(result.directory / "artifact", task=name)
            assert predictor.signature.model_dump(mode="json") == signature


EXAMS: Mapping[str, type[TaskExam]] = {
    "asked": questions.TestQuestionAnswering,
    "beamed": questions.TestBeam,
    "words": language.TestMaskedLm,
}


class TestMultiOfPlaces(TestMulti):
    """Answers to questions, found in both ways, hidden words, and moods."""

    waits = ("_local_scalar_dense", "index")
    sections = f"""\
task:
  type: multi
  sampling: uniform
  tasks:
    asked: {{{{{questions.TASK}}}}}
    beamed: {{{{{questions.TASK}, search: beam}}}}
    words: {{{{{language.TestMaskedLm.task}}}}}
    mood: {{{{type: text_classification, max_length: 24}}}}
  scores: {{{{words: [guess_accuracy, perplexity]}}}}
data:
  type: several
  sets:
    asked: {{{{train: {{root}}/train.json, validation: {{root}}/dev.json}}}}
    beamed: {{{{train: {{root}}/train.json, validation: {{root}}/dev.json}}}}
    words: {{{{train: {{root}}/train.txt, validation: {{root}}/dev.txt}}}}
    mood: {{{{train: {{root}}/mood.csv, validation: {{root}}/mood_dev.csv}}}}
"""
    refusals = tuple(rf"task {name}: (.|\n)*{what}" for name, exam in EXAMS.items() for what in exam.refusals)
    asked = (*(exam.asked[0] for exam in EXAMS.values()), {"text": "a good film"})

    @staticmethod
    def write(root: Path) -> None:
        questions.write(root)
        language.TestMaskedLm.write(root)
        write_rows(root / "mood.csv", 72)
        write_rows(root / "mood_dev.csv", 24, seed=1)

    @staticmethod
    def spoil(root: Path) -> None:
        questions.TestQuestionAnswering.spoil(root)
        language.TestMaskedLm.spoil(root)

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return questions.TestQuestionAnswering.theirs(network.heads["task_asked"], batch)

    @pytest.mark.parametrize("task", ["asked", "beamed"])
    def test_answers_are_scored_by_the_rules_and_written_in_the_files_of_squad(
        self, examined: Examined, result: RunResult, tmp_path: Path, task: str
    ) -> None:
        source, out = examined.root / "dev.json", tmp_path / "predictions.json"
        predict_payload(str(result.directory), source.read_bytes(), format="squad", out=out, task=task)
        said, lists, odds = (
            json.loads((tmp_path / f"{name}.json").read_text())
            for name in ("predictions", "nbest_predictions", "null_odds")
        )
        right, found = questions.golds(source), scores_of(task, result.scores["validation"])
        assert lists.keys() == odds.keys() == right.keys()
        wanted = rules.official(right, said)
        assert found["f1"].value == pytest.approx(wanted["f1"], abs=1e-12)
        assert found["exact_match"].value == pytest.approx(wanted["exact"], abs=1e-12)
        assert found["f1"].value == found["best_f1"].value  # the threshold was tuned on these rows, for this task
        assert evaluate(str(result.directory), task=task, data=str(source)).scores == found

    def test_each_search_has_a_threshold_of_its_own(self, result: RunResult) -> None:
        profile = json.loads((result.directory / "artifact" / "profile.json").read_text())["facts"]["tasks"]
        thresholds = [profile[task]["facts"]["null_threshold"] for task in ("asked", "beamed")]
        assert len({*thresholds, 0.0}) == 3

    def test_hidden_words_are_guessed_in_words(self, result: RunResult) -> None:
        (said,) = predict(str(result.directory), language.TestMaskedLm.asked, task="words")
        assert said.answer is not None
        (guesses,) = said.answer["guesses"]
        assert said.answer["predicted"] == guesses[0]["token"]
        assert len(guesses) == 5

    def test_a_language_model_counts_in_the_mean_by_a_score_that_rises(self, result: RunResult) -> None:
        scores = result.scores["validation"]
        assert list(scores)[:5] == ["mean", "asked/f1", "beamed/f1", "words/guess_accuracy", "mood/accuracy"]
        assert scores["mean"].value == pytest.approx(np.mean([scores[name].value for name in list(scores)[1:5]]))
        assert scores["words/perplexity"].value > 1


VECTORS: Mapping[str, type[fused.FusedExam]] = {
    "beside": fused.TestTextAndColumns,
    "near": fused.TestRetrieval,
    "alike": fused.TestSimilarity,
}


class TestMultiOfVectors(TestMulti):
    """A text with columns beside it, passages for queries, and how alike two texts are."""

    sections = "\n".join(
        [
            "task:\n  type: multi\n  sampling: uniform\n  tasks:",
            *(f"    {name}: {{{{{exam.task}, max_length: 16}}}}" for name, exam in VECTORS.items()),
            "data:\n  type: several\n  sets:",
            *(f"    {name}: {{{{train: {{root}}/train.jsonl, validation: {{root}}/dev.jsonl}}}}" for name in VECTORS),
            "",
        ]
    )
    refusals = (
        r"task beside: (.|\n)*dev\.jsonl:2: label 'gone' is not one of bad at the coast",
        r"task near: (.|\n)*dev\.jsonl:2: passage is empty",
        r"task alike: (.|\n)*dev\.jsonl:2: label 'much' is not a number",
    )
    asked = tuple(exam.asked[0] for exam in VECTORS.values())
    steps_alike = False

    @staticmethod
    def write(root: Path) -> None:
        fused.FusedExam.write(root)

    @staticmethod
    def spoil(root: Path) -> None:
        for exam in VECTORS.values():
            exam.spoil(root)

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return fused.TestTextAndColumns.theirs(network.heads["task_beside"], batch)

    def test_records_that_cannot_be_written_are_told_with_their_task(self, examined: Examined, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="task near: --tfrecord writes one text or pair a record"):
            prepare(str(examined.root / "experiment.yaml"), out=tmp_path / "ready", has_tfrecord=True)
        assert not (tmp_path / "ready").exists()

    def test_a_text_is_embedded_by_the_shared_layers(self, result: RunResult) -> None:
        (said,) = predict(str(result.directory), [{"text": "a good film"}], task="near")
        assert said.answer is not None
        assert np.linalg.norm(said.answer["embedding"]) == pytest.approx(1, abs=1e-5)


def together(alone: Any, joint: Any, *, task: str) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Put each parameter of a task's own network beside that which stands for it where layers are shared."""
    own, below = dict(joint.heads[f"task_{task}"].named_parameters()), f"model.{names_below(alone.model)}"
    shared = {f"{below}{name}": parameter for name, parameter in joint.model.named_parameters()}
    return [(parameter, (shared | own)[name]) for name, parameter in alone.named_parameters()]


def gradient(parameter: torch.Tensor) -> torch.Tensor:
    """Give the gradient; nothing in what took no part."""
    return torch.zeros_like(parameter) if parameter.grad is None else parameter.grad


def scores_of(task: str, scores: Mapping[str, Score]) -> dict[str, Score]:
    return {name.removeprefix(f"{task}/"): score for name, score in scores.items() if name.startswith(f"{task}/")}
