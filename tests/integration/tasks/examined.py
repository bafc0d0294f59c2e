"""One small experiment under examination: what its encoder and network make of batches, and how it is run."""

import json
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from burnish.artifact.predictor import views
from burnish.commands.config import check
from burnish.commands.train import read_result
from burnish.config import Resolved
from burnish.data.batching.batches import evaluation_plan
from burnish.dist.world import Solo
from burnish.engine.evaluate import infer_all
from burnish.engine.infer_torch import inputs_of
from burnish.engine.losses_torch import Losses
from burnish.run.build import build_learner
from burnish.run.preparation.prepare import prepare
from burnish.run.preparation.prepared_data import PreparedData
from burnish.run.record.directory import RunDirectory
from burnish.run.record.plan import settle_plan
from burnish.run.record.result import RunResult
from burnish.spec.experiment import Experiment
from burnish.spec.parts import divide_tasks
from burnish.spec.values import Outcome, RandomKey
from tests.harness.fork_server import ForkServer

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Examined:
    """An experiment of the task on disk, and what its encoder and network make of it."""

    root: Path
    resolved: Resolved

    @classmethod
    def read(cls, root: Path, *overrides: str) -> "Examined":
        return cls(root, check(str(root / "experiment.yaml"), overrides=overrides))

    @property
    def experiments(self) -> Mapping[str, Experiment]:
        """Give the experiment of each task; one that is alone has the name that stands for that."""
        return divide_tasks(self.resolved.experiment)

    @cached_property
    def prepared(self) -> PreparedData:
        return prepare(self.resolved.experiment)

    @cached_property
    def learner(self) -> Any:
        learner = build_learner(self.resolved.experiment, self.prepared, Solo())
        learner.network.eval()
        return learner

    def batch(self, *indices: int, split: str = "train") -> dict[str, torch.Tensor]:
        draw = RandomKey(seed=0, epoch=0, is_training=split == "train")
        arrays = self.prepared.collate(split)(np.array(indices), draw)
        return {name: torch.tensor(array) for name, array in arrays.items()}

    def loss(self, batch: Mapping[str, torch.Tensor], *, weights: Sequence[float] | None = None) -> torch.Tensor:
        """Give the mean over what the batch scores, or its share of one that weighs so much."""
        with torch.no_grad():
            outputs = self.learner.network(inputs_of(batch))
        return self._losses.total(outputs, batch, weights=self.weights(batch) if weights is None else weights)

    def weights(self, batch: Mapping[str, torch.Tensor]) -> list[float]:
        return self._losses.weights(batch)

    @property
    def lengths(self) -> np.ndarray[Any, Any]:
        """Give the lengths of the training examples, those of the first task where there are several."""
        first = next(iter(self.prepared.parts.values()))
        return first.features["train"]["length"].to_numpy()

    def outcome(self, task: str, *, examples: int) -> Outcome:
        """Give what the network says of the validation rows of a task, so many a batch."""
        experiment, prepared = self.experiments[task], self.prepared.parts[task]
        plan = evaluation_plan(prepared.features["validation"]["length"].to_numpy(), examples=examples)
        outputs = infer_all(self.learner.infer, prepared.collate("validation"), plan, draws=views(experiment))
        return experiment.task.decode(outputs, prepared.profile, prepared.rows["validation"].table)

    def learnt_by_heart(self, indices: Sequence[int], *, steps: int) -> list[float]:
        """Give the losses of a network of its own that sees one batch again and again."""
        learner: Any = build_learner(self.resolved.experiment, self.prepared, Solo())
        draw = RandomKey(seed=0, epoch=0, is_training=True)
        batch = self.prepared.collate("train")(np.array(indices), draw)
        return [learner.step([batch], step=step, factor=1.0).loss for step in range(steps)]

    def run(self, name: str, server: ForkServer, *, processes: int) -> RunResult:
        """Train, as so many processes that meet over gloo."""
        run = RunDirectory(self.root / name)
        settle_plan(run, self.resolved)
        places = _places(processes)
        attempts = [
            server.start(run.path, output=run.path / f"output{rank}.txt", env=env) for rank, env in enumerate(places)
        ]
        assert [each.wait() for each in attempts] == [0] * processes, attempts[0].output.read_text()[-3000:]
        return read_result(run)

    @property
    def _losses(self) -> Losses:
        head = self.resolved.experiment.task.head(self.prepared.profile)
        return Losses(head.objective, head.terms, CPU, parts=tuple(head.parts.values()))


def steps_of(run: Path) -> list[dict[str, Any]]:
    """Give the steps that a run has told of."""
    lines = (json.loads(line) for line in (run / "events.jsonl").read_text().splitlines())
    return [line for line in lines if line["event"] == "stepped"]


def _places(processes: int) -> list[dict[str, str]]:
    if processes == 1:
        return [{}]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    size = str(processes)
    shared = {"WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return [{**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(processes)]
