"""Scores checkpoints of a run from outside, while it may still be training."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from burnish.dist.world import Solo
from burnish.engine.memory_torch import Memory
from burnish.engine.snapshot_torch import read_weights
from burnish.errors import CheckpointError, DataError
from burnish.run.build import build_learner
from burnish.run.predicting.scoring import Scorer
from burnish.run.preparation.inputs import NOTHING_KNOWN, TrainedOn, recorded_in, refuse_changed_plan
from burnish.run.preparation.prepare import prepare
from burnish.run.record.directory import RunDirectory
from burnish.spec.experiment import Experiment
from burnish.spec.values import Score
from burnish.storage.checkpoints import CheckpointStore


@dataclass
class Rescorer:
    """A learner of its own that loads one checkpoint after another."""

    directory: RunDirectory
    experiment: Experiment
    split: str | None
    """None for test, or validation where there is no test."""
    _store: CheckpointStore = field(init=False)

    def __post_init__(self) -> None:
        self._store = CheckpointStore(
            self.directory.checkpoints, self.directory.quarantine, tell=lambda _sentence: None
        )
        prepared = prepare(self.experiment, trained_on=self._trained_on())
        if self.split is None:
            self.split = "test" if "test" in prepared.features else "validation"
        if self.split not in prepared.features:
            there = ", ".join(prepared.features)
            raise DataError(f"the data of {self.directory.path} has no {self.split} split; it has {there}")
        self._scorer = Scorer(self.experiment, prepared)
        self._learner = build_learner(self.experiment, prepared, Solo())
        self._fitting = partial(Memory().answer, step=0)

    def _trained_on(self) -> TrainedOn:
        try:
            newest = self._store.at(self._store.steps()[-1])
        except (CheckpointError, IndexError):
            return NOTHING_KNOWN  # it is damaged or not there yet
        refuse_changed_plan(newest, self.directory, self.experiment)
        return recorded_in(newest, on_change=self._refuse)

    def _refuse(self, changes: Sequence[str]) -> None:
        raise CheckpointError(
            f"{'; '.join(changes)} since {self.directory.path} was trained on it, so its splits are others now; "
            "put the files back to score its checkpoints"
        )

    def steps(self) -> list[int]:
        """List the checkpoints that are there now."""
        return self._store.steps()

    def scores(
        self, step: int, *, intervals: bool, progress: Callable[[int, int], None] = lambda done, total: None
    ) -> dict[str, Score] | None:
        """Score one checkpoint; None when the run has deleted it meanwhile."""
        assert self.split is not None, "it was chosen before the first question"
        try:
            read_weights(self._learner, self._store.at(step).path)
        except (CheckpointError, OSError):
            return None
        with self._learner.averaged():
            infer = self._learner.infer
            outcomes = self._scorer.outcomes(self.split, infer, fitting=self._fitting, progress=progress)
        return self._scorer.scored(outcomes, intervals=intervals)
