"""What Burnish's own tasks must do besides the exam of `burnish.testing.exams`, in workers that a server forks."""

import copy
import json
import signal
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from burnish.artifact.answering import answer
from burnish.artifact.predictor import Predictor
from burnish.commands.prepare import prepare
from burnish.commands.train import read_result
from burnish.engine.infer_torch import inputs_of
from burnish.engine.losses_torch import Losses
from burnish.errors import DataError
from burnish.run.record.directory import RunDirectory
from burnish.run.record.plan import settle_plan
from burnish.run.record.result import RunResult
from burnish.run.selection import mean_loss
from burnish.spec.values import RandomKey
from burnish.testing import exams
from burnish.testing.exams import Examined, Trainer
from tests.faults.conftest import Scene, undisturbed
from tests.faults.conftest import Tally as FaultTally
from tests.harness.faults import Fault
from tests.harness.fork_server import ForkServer
from tests.harness.placed import ELSEWHERE, Elsewhere, Placed, place, place_batch
from tests.harness.shards import rewrite_shard, with_strange_numbers


class TaskExam(exams.TaskExam):
    disturbed: ClassVar[tuple[str, ...]] = ("model.dropout=0.1",)
    """Overrides that make training draw numbers, which a resumed run must draw again."""
    waits: ClassVar[tuple[str, ...]] = ("_local_scalar_dense",)
    """The operations of a step that need values of tensors, for which a GPU has to wait: that one is a look at whether
    a mask hides anything, `index` is by a mask."""
    tells_loss: ClassVar[bool] = True
    """Whether a score is the mean of the losses of training; not where these are in other units, or of more than it."""
    limited: ClassVar[tuple[str, ...]] = ()
    """The columns of features whose limits are known; all, unless the encoder is of someone else."""

    @staticmethod
    def theirs(network: Any, batch: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """Give the loss that the model of `transformers` computes itself, or one computed apart where it has none."""
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def tiny(cls, tiny: Callable[[str], Path]) -> Callable[[str], Path]:
        return tiny  # that of the whole session

    @pytest.fixture(scope="class")
    @classmethod
    def trainer(cls, server: ForkServer) -> Trainer:
        return lambda examined, name, processes: train(examined, name, server, processes=processes)

    @pytest.fixture(scope="class")
    @classmethod
    def scene(cls, examined: Examined, result: RunResult, server: ForkServer) -> Scene:
        """An undisturbed run of one process, after another has filled the cache."""
        drawing = Examined.read(examined.root, *cls.disturbed)
        return undisturbed(examined.root / "runs", server, drawing.resolved, is_cached=True)

    def test_a_step_stays_on_its_device(self, examined: Examined) -> None:
        batch = examined.batch(0, 1, 2, 3)
        head = examined.resolved.experiment.task.head(examined.prepared.profile)
        network = place(copy.deepcopy(examined.learner.network).train())
        with Elsewhere() as elsewhere:
            losses = Losses(head.objective, head.terms, ELSEWHERE, parts=tuple(head.parts.values()))
            placed = place_batch(batch)
            loss = losses.total(network(inputs_of(placed)), placed, weights=examined.weights(batch))
            loss.backward()
        assert sorted(elsewhere.waits) == sorted(self.waits), sorted(elsewhere.waits)
        assert float(loss.detach()) == pytest.approx(examined.loss(batch), abs=1e-5)
        assert all(each.grad is None or isinstance(each.grad, Placed) for each in network.parameters())

    def test_the_loss_is_that_of_transformers(self, examined: Examined) -> None:
        batch = examined.batch(0, 1, 2, 3)
        with torch.no_grad():
            theirs = float(self.theirs(examined.learner.network, batch))
        assert examined.loss(batch) == pytest.approx(theirs, rel=1e-5, abs=1e-5)

    def test_a_score_tells_the_loss_of_training_on_a_whole_split(self, examined: Examined) -> None:
        if not self.tells_loss:
            return
        told = mean_loss([self._score(examined, examples=3)])
        indices, collate = np.arange(examined.prepared.features["validation"].num_rows), examined.prepared.collate
        batches = (collate("validation")(indices, RandomKey(0, 0, is_training=each)) for each in (False, True))
        labelled = next(batch for batch in batches if "label" in batch)
        assert told == pytest.approx(examined.loss({k: torch.tensor(v) for k, v in labelled.items()}), rel=1e-4)

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


def train(examined: Examined, name: str, server: ForkServer, *, processes: int) -> RunResult:
    """Train as so many processes that meet over gloo."""
    run = RunDirectory(examined.root / name)
    settle_plan(run, examined.resolved)
    attempts = [
        server.start(run.path, output=run.path / f"output{rank}.txt", env=env)
        for rank, env in enumerate(_places(processes))
    ]
    assert [each.wait() for each in attempts] == [0] * processes, attempts[0].output.read_text()[-3000:]
    return read_result(run)


def _places(processes: int) -> list[dict[str, str]]:
    if processes == 1:
        return [{}]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    size = str(processes)
    shared = {"WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return [{**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(processes)]
