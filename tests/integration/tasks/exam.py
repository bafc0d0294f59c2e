"""What every task must do, whatever it learns: a class to inherit, with one small experiment of the task."""

import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from burnish.artifact.predictor import Predictor, views
from burnish.commands.config import check
from burnish.commands.evaluate import evaluate
from burnish.commands.train import train
from burnish.config import Resolved
from burnish.data.batches import evaluation_plan
from burnish.dist.world import Solo
from burnish.engine.evaluate import infer_all
from burnish.engine.infer_torch import inputs_of
from burnish.engine.losses_torch import Losses
from burnish.errors import DataError
from burnish.metrics.tally import Tally
from burnish.run.assemble import build_learner
from burnish.run.directory import RunDirectory
from burnish.run.prepare import Prepared, prepare
from burnish.run.result import RunResult
from burnish.run.selection import metrics_of
from burnish.spec.values import Draw
from burnish.testing.faults import Fault
from burnish.testing.fork_server import fork_server
from tests.faults.conftest import Tally as FaultTally
from tests.faults.conftest import undisturbed

TRAINING = """\
optimizer: {learning_rate: 3e-3}
train: {length: 12 steps, batch: 8, evaluate_every: 6 steps, checkpoint_every: 4 steps, keep: 2}
runtime: {threads: 1}
"""
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Examined:
    """An experiment of the task on disk, and what its encoder and network make of it."""

    root: Path
    resolved: Resolved

    @cached_property
    def prepared(self) -> Prepared:
        return prepare(
            self.resolved.experiment, RunDirectory(self.root / "unused"), tell=lambda _note: None, is_recorded=False
        )

    @cached_property
    def learner(self) -> Any:
        learner = build_learner(self.resolved.experiment, self.prepared, Solo())
        learner.network.eval()
        return learner

    def batch(self, *indices: int, split: str = "train") -> dict[str, torch.Tensor]:
        features = self.prepared.features[split]
        draw = Draw(seed=0, epoch=0, is_training=split == "train")
        arrays = self.prepared.encoder.collate(features, np.array(indices), draw)
        return {name: torch.tensor(array) for name, array in arrays.items()}

    def loss(self, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Give the mean over what the batch scores."""
        losses = self._losses
        with torch.no_grad():
            return losses.total(self.learner.network(inputs_of(batch)), batch, weights=losses.weights(batch))

    def weight(self, batch: Mapping[str, torch.Tensor]) -> float:
        return self._losses.weights(batch)[0]

    @property
    def _losses(self) -> Losses:
        head = self.resolved.experiment.task.head(self.prepared.profile)
        return Losses(head.objective, head.terms, CPU)


class TaskExam:
    """Inherit it as `TestMyTask`, write the files of a small experiment, and say what a spoilt one is refused with."""

    sections: ClassVar[str]
    """YAML of `task` and `data`; {root} is the folder of the files."""
    refusal: ClassVar[str]
    """A pattern of what is said of the rows that `spoil` wrote."""
    asked: ClassVar[tuple[dict[str, Any], ...]]
    """Rows to predict."""

    @staticmethod
    def write(root: Path) -> None:
        """Write the data, at least 40 rows to train on and 20 to validate on, of lengths that differ."""
        raise NotImplementedError

    @staticmethod
    def spoil(root: Path) -> None:
        """Put a label that training does not know into the validation file."""
        raise NotImplementedError

    @staticmethod
    def theirs(model: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Give the loss that the model of `transformers` computes itself."""
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def examined(cls, tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Examined:
        root = tmp_path_factory.mktemp("exam")
        cls.write(root)
        return Examined(root, cls._resolved(root, tiny_bert))

    @pytest.fixture(scope="class")
    @classmethod
    def result(cls, examined: Examined) -> RunResult:
        """A run of two processes."""
        return train(str(examined.root / "experiment.yaml"), directory=examined.root / "two", processes=2)

    @classmethod
    def _resolved(cls, root: Path, model: Path) -> Resolved:
        config = root / "experiment.yaml"
        config.write_text(f"{cls.sections.format(root=root)}model: {{name: {model}, dropout: 0}}\n{TRAINING}")
        return check(str(config))

    def test_the_loss_is_that_of_transformers(self, examined: Examined) -> None:
        batch = examined.batch(0, 1, 2, 3)
        with torch.no_grad():
            theirs = self.theirs(examined.learner.network.model, batch)
        torch.testing.assert_close(examined.loss(batch), theirs, rtol=1e-5, atol=1e-5)

    def test_the_loss_ignores_padding(self, examined: Examined) -> None:
        lengths = examined.prepared.features["train"]["length"].to_numpy()
        chosen = [int(lengths.argmin()), int(lengths.argmax())]
        assert lengths[chosen[0]] < lengths[chosen[1]]
        alone = [examined.batch(index) for index in chosen]
        both = examined.batch(*chosen)
        expected = sum(examined.loss(batch) * examined.weight(batch) for batch in alone)
        torch.testing.assert_close(examined.loss(both) * examined.weight(both), expected, rtol=1e-5, atol=1e-5)

    def test_scores_are_of_the_whole_set_whatever_the_batches(self, examined: Examined) -> None:
        found = [self._scores(examined, examples=examples) for examples in (1, 3, 64)]
        assert found[0]
        assert found[0] == pytest.approx(found[2], nan_ok=True)
        assert found[1] == pytest.approx(found[2], nan_ok=True)

    def _scores(self, examined: Examined, *, examples: int) -> dict[str, float]:
        experiment, prepared = examined.resolved.experiment, examined.prepared
        plan = evaluation_plan(prepared.features["validation"]["length"].to_numpy(), examples=examples)
        outputs = infer_all(examined.learner.infer, prepared.collate("validation"), plan, draws=views(experiment))
        outcome = experiment.task.decode(outputs, prepared.profile, prepared.rows["validation"].table)
        np.testing.assert_array_equal(outcome.rows, np.arange(len(prepared.rows["validation"])))
        return Tally(metrics_of(experiment, prepared.profile), [outcome]).scores()

    def test_labels_that_training_does_not_know_are_refused_with_their_place(
        self, tmp_path: Path, tiny_bert: Path
    ) -> None:
        self.write(tmp_path)
        self.spoil(tmp_path)
        with pytest.raises(DataError, match=self.refusal):
            Examined(tmp_path, self._resolved(tmp_path, tiny_bert)).prepared  # noqa: B018  # preparing is the act

    def test_two_processes_score_as_one_does_to_the_last_digit(self, result: RunResult) -> None:
        assert evaluate(str(result.directory), split="validation").scores == result.scores["validation"]

    def test_predictions_are_in_row_order(self, examined: Examined, result: RunResult) -> None:
        table = pq.read_table(result.directory / "predictions" / "validation.parquet")
        assert table["row"].to_pylist() == list(range(len(examined.prepared.rows["validation"])))
        assert "predicted" in table.column_names

    def test_the_artifact_answers_as_it_did_when_it_was_saved(self, result: RunResult) -> None:
        predictor = Predictor.load(result.directory / "artifact")
        assert len(predictor.predict(self.asked)) == len(self.asked)
        golden = json.loads((result.directory / "artifact" / "golden.json").read_text())
        assert len(golden["outputs"]) == len(golden["rows"]) > 0

    def test_killed_and_resumed_it_comes_to_the_same_bits(self, examined: Examined) -> None:
        with fork_server() as server:
            scene = undisturbed(examined.root / "runs", server, examined.resolved)
            run, counted = scene.plan("killed"), FaultTally()
            fault = next(point for point in scene.points_of_save(1) if point.kind == "tensors")
            attempt = scene.start(run, counted, fault=Fault(fault.kind, fault.number))
            assert attempt.wait() == -signal.SIGKILL
            scene.resume(run, counted)
            scene.assert_same(run, counted)
