"""Scores checkpoints of a run from outside, while it may still be training."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from burnish.dist.world import Solo
from burnish.engine.memory_torch import Memory
from burnish.engine.snapshot_torch import read_weights
from burnish.errors import CheckpointError, DataError
from burnish.run.assemble import build_learner
from burnish.run.directory import RunDirectory
from burnish.run.prepare import prepare
from burnish.run.scoring import Scorer
from burnish.spec.experiment import Experiment
from burnish.storage.checkpoints import CheckpointStore


@dataclass
class Rescorer:
    """A learner of its own that loads one checkpoint after another."""

    directory: RunDirectory
    experiment: Experiment
    split: str
    _store: CheckpointStore = field(init=False)

    def __post_init__(self) -> None:
        prepared = prepare(self.experiment, self.directory, tell=lambda _sentence: None, is_recorded=False)
        if self.split not in prepared.features:
            there = ", ".join(prepared.features)
            raise DataError(f"the data of {self.directory.path} has no {self.split} split; it has {there}")
        self._scorer = Scorer(self.experiment, prepared)
        self._learner = build_learner(self.experiment, prepared, Solo())
        self._fitting = partial(Memory().answer, step=0)
        self._store = CheckpointStore(
            self.directory.checkpoints, self.directory.quarantine, tell=lambda _sentence: None
        )

    def steps(self) -> list[int]:
        """List the checkpoints that are there now."""
        return self._store.steps()

    def scores(self, step: int) -> Mapping[str, float] | None:
        """Score one checkpoint; None when the run has deleted it meanwhile."""
        try:
            read_weights(self._learner, self._store.at(step).path)
        except (CheckpointError, OSError):
            return None
        with self._learner.averaged():
            return self._scorer.scores(self.split, self._learner.infer, fitting=self._fitting)
