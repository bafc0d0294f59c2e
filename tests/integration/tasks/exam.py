"""What every task must do, whatever it learns: a class to inherit, with one small experiment of the task."""

import json
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from burnish.artifact.answering import answer
from burnish.artifact.predictor import Predictor, table_of
from burnish.artifact.tables import prediction_columns
from burnish.commands.evaluate import evaluate
from burnish.commands.prepare import prepare
from burnish.errors import DataError
from burnish.metrics.tally import Tally
from burnish.run.predicting.prediction_tables import prediction_tables
from burnish.run.record.result import RunResult
from burnish.run.selection import metrics_of
from burnish.spec.parts import prefix
from tests.faults.conftest import Scene, undisturbed
from tests.faults.conftest import Tally as FaultTally
from tests.harness.faults import Fault
from tests.harness.fork_server import ForkServer
from tests.harness.shards import rewrite_shard, with_strange_numbers
from tests.integration.tasks.examined import Examined, steps_of

TRAINING = """\
optimizer: {learning_rate: 3e-3}
train: {length: 12 steps, batch: 8, evaluate_every: 6 steps, checkpoint_every: 4 steps, keep: 2}
runtime: {threads: 1, precision: fp32}
"""


class TaskExam:
    """Inherit it as `TestMyTask`, write the files of a small experiment, and say what a spoilt one is refused with."""

    sections: ClassVar[str]
    """YAML of `task` and `data`; {root} is the folder of the files."""
    model: ClassVar[str] = "{{name: {tiny}, dropout: 0}}"
    """YAML of `model`, without anything random; {tiny} is the folder of a tiny one of the family below."""
    family: ClassVar[str] = "bert"
    disturbed: ClassVar[tuple[str, ...]] = ("model.dropout=0.1",)
    """Overrides that make training draw numbers, which a resumed run must draw again."""
    refusals: ClassVar[tuple[str, ...]]
    """Patterns of what is said, in one refusal, of the rows that `spoil` wrote; an unseen label with those known."""
    asked: ClassVar[tuple[dict[str, Any], ...]]
    """Rows to predict."""
    pads: ClassVar[bool] = True
    """Whether examples differ in length."""
    limited: ClassVar[tuple[str, ...]] = ()
    """The columns of features whose limits are known; all, unless the encoder is of someone else."""
    steps_alike: ClassVar[bool] = True
    """Whether two processes take the steps of one; not where a process draws, or looks for wrong answers at home."""

    @staticmethod
    def write(root: Path) -> None:
        """Write the data, at least 40 rows to train on and 20 to validate on, of lengths that differ."""
        raise NotImplementedError

    @staticmethod
    def spoil(root: Path) -> None:
        """Put rows that cannot be used into the validation file; a label that training does not know, if any."""
        raise NotImplementedError

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Give the loss that the model of `transformers` computes itself, or one computed apart where it has none."""
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def examined(cls, tmp_path_factory: pytest.TempPathFactory, tiny: Callable[[str], Path]) -> Examined:
        return cls._written(tmp_path_factory.mktemp("exam"), tiny)

    @pytest.fixture(scope="class")
    @classmethod
    def result(cls, examined: Examined, server: ForkServer) -> RunResult:
        """A run of two processes."""
        return examined.run("two", server, processes=2)

    @pytest.fixture(scope="class")
    @classmethod
    def scene(cls, examined: Examined, result: RunResult, server: ForkServer) -> Scene:
        """An undisturbed run of one process, after another has filled the cache."""
        drawing = Examined.read(examined.root, *cls.disturbed)
        return undisturbed(examined.root / "runs", server, drawing.resolved, is_cached=True)

    @classmethod
    def _written(cls, root: Path, tiny: Callable[[str], Path]) -> Examined:
        cls.write(root)
        model = cls.model.format(tiny=tiny(cls.family))
        (root / "experiment.yaml").write_text(f"{cls.sections.format(root=root)}model: {model}\n{TRAINING}")
        return Examined.read(root)

    def test_the_loss_is_that_of_transformers(self, examined: Examined) -> None:
        batch = examined.batch(0, 1, 2, 3)
        with torch.no_grad():
            theirs = self.theirs(examined.learner.network, batch)
        torch.testing.assert_close(examined.loss(batch), theirs, rtol=1e-5, atol=1e-5)

    def test_the_loss_ignores_padding(self, examined: Examined) -> None:
        lengths = examined.lengths
        chosen = [int(lengths.argmin()), int(lengths.argmax())]
        assert (lengths[chosen[0]] < lengths[chosen[1]]) == self.pads
        both = examined.batch(*chosen)
        weights = examined.weights(both)
        expected = sum(examined.loss(examined.batch(index), weights=weights) for index in chosen)
        torch.testing.assert_close(examined.loss(both), expected, rtol=1e-5, atol=1e-5)

    def test_scores_are_of_the_whole_set_whatever_the_batches(self, examined: Examined) -> None:
        found = [self._scores(examined, examples=examples) for examples in (1, 3, 64)]
        assert found[0]
        # What an untrained network says differs so little that a correlation keeps few digits.
        assert found[0] == pytest.approx(found[2], rel=1e-6, abs=1e-4, nan_ok=True)
        assert found[1] == pytest.approx(found[2], rel=1e-6, abs=1e-4, nan_ok=True)

    def _scores(self, examined: Examined, *, examples: int) -> dict[str, float]:
        found: dict[str, float] = {}
        for name, part in examined.prepared.parts.items():
            outcome = examined.outcome(name, examples=examples)
            np.testing.assert_array_equal(outcome.rows, np.arange(len(part.rows["validation"])))
            scores = Tally(metrics_of(examined.experiments[name], part.profile), [outcome]).scores()
            found |= {prefix(name, score): value for score, value in scores.items()}
        return found

    def test_rows_that_cannot_be_used_are_told_together_each_with_its_place(
        self, tmp_path: Path, tiny: Callable[[str], Path]
    ) -> None:
        examined = self._written(tmp_path, tiny)
        self.spoil(tmp_path)
        with pytest.raises(DataError) as refused:
            examined.prepared  # noqa: B018  # preparing is the act
        for pattern in self.refusals:
            refused.match(pattern)

    def test_features_of_a_prepared_folder_that_no_encoder_made_are_refused(
        self, examined: Examined, tmp_path: Path
    ) -> None:
        written = prepare(str(examined.root / "experiment.yaml"), out=tmp_path / "ready")
        assert Examined.read(examined.root, written.override).prepared.facts
        for name, part in examined.prepared.parts.items():
            shard = written.path / name / "features" / "train-00000.arrow"
            features = part.features["train"]
            for changed in with_strange_numbers(features, among=self.limited or features.column_names):
                rewrite_shard(shard, changed)
                with pytest.raises(DataError, match=rf"{shard}: `.*` holds .*, and this experiment has"):
                    Examined.read(examined.root, written.override).prepared  # noqa: B018  # preparing is the act
            rewrite_shard(shard, features)

    def test_it_learns_a_batch_by_heart(self, examined: Examined) -> None:
        losses = examined.learnt_by_heart(range(8), steps=40)
        assert losses[-1] < 0.7 * losses[0]

    def test_two_processes_take_the_steps_of_one(
        self, examined: Examined, result: RunResult, server: ForkServer
    ) -> None:
        alone = examined.run("one", server, processes=1)
        mine, theirs = steps_of(result.directory), steps_of(alone.directory)
        for name in ("step", "epoch", "examples", "tokens", "learning_rate"):
            assert [step[name] for step in mine] == [step[name] for step in theirs]
        if self.steps_alike:
            assert [step["loss"] for step in mine] == pytest.approx([step["loss"] for step in theirs], abs=1e-4)

    def test_two_processes_score_as_one_does_to_the_last_digit(self, result: RunResult) -> None:
        assert evaluate(str(result.directory), split="validation").scores == result.scores["validation"]

    def test_predictions_of_two_processes_are_those_of_one_in_row_order(
        self, examined: Examined, result: RunResult
    ) -> None:
        for name, part in examined.prepared.parts.items():
            written = pq.read_table(result.directory / "predictions" / name / "validation.parquet")
            rows = part.rows["validation"]
            assert written["row"].to_pylist() == list(range(len(rows)))
            assert "predicted" in written.column_names
            said = Predictor.load(result.directory / "artifact", task=name or None).outcome(rows.table)
            shown = ["text"]
            columns = examined.experiments[name].task.input_columns[:1]
            alone = pa.concat_tables(prediction_tables(said, rows, shown=columns))
            assert alone.drop_columns(shown) == written.drop_columns(shown)

    def test_the_artifact_answers_as_it_did_when_it_was_saved(self, result: RunResult) -> None:
        predictor = Predictor.load(result.directory / "artifact")
        assert len(predictor.predict(self.asked)) == len(self.asked)
        golden = json.loads((result.directory / "artifact" / "golden.json").read_text())
        assert len(golden["outputs"]) == len(golden["rows"]) == 8
        served = json.loads(answer(predictor, json.dumps(golden["rows"]).encode(), format="json").body)["predictions"]
        table = table_of(golden["rows"], predictor.task, profile=predictor.profile)
        said = prediction_columns(predictor.outcome(table))["predicted"].to_pylist()
        assert [row["predicted"] for row in served] == pytest.approx(said, abs=1e-6)

    def test_the_artifact_describes_what_it_takes_and_what_it_answers(self, result: RunResult) -> None:
        predictor = Predictor.load(result.directory / "artifact")
        signature = predictor.signature
        written = json.loads((result.directory / "artifact" / "signature.json").read_text())
        assert signature.model_dump(mode="json") == written
        example = {field.name: field.example for field in signature.inputs if field.example is not None}
        (answered,) = json.loads(answer(predictor, json.dumps([example]).encode(), format="json").body)["predictions"]
        assert set(signature.answer.fields) <= set(answered)
        assert all(field.missing_share == 0 for field in signature.inputs if field.is_required)
        assert signature.answer.kind != "other"

    def test_killed_and_resumed_it_comes_to_the_same_bits(self, scene: Scene) -> None:
        run, counted = scene.plan("killed"), FaultTally()
        fault = next(point for point in scene.points_of_save(1) if point.kind == "tensors")
        attempt = scene.start(run, counted, fault=Fault(fault.kind, fault.number))
        assert attempt.wait() == -signal.SIGKILL
        scene.resume(run, counted)
        scene.assert_same(run, counted)
