"""The sample of rows that all contestants work on."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.commands.workers.speed import take_rows
from burnish.dist.world import available_cores
from burnish.run.predicting.scoring import Scorer
from burnish.run.preparation.prepared_data import PreparedTask
from burnish.run.record.directory import RunDirectory
from burnish.spec.experiment import Experiment
from burnish.spec.parts import ALONE
from burnish.spec.values import Array


@dataclass(frozen=True)
class Sample:
    """An experiment whose training rows are a part of all there are."""

    scorer: Scorer
    num_rows_of_all: int
    """How many training rows there are in the whole data set."""

    @property
    def experiment(self) -> Experiment:
        """What is trained."""
        return self.scorer.experiment

    @property
    def prepared(self) -> PreparedTask:
        """The rows and their features."""
        return self.scorer.prepared.parts[ALONE]

    @property
    def lengths(self) -> Array:
        """Tokens of each example, special ones counted."""
        lengths: Array = self.scorer.prepared.features["train"]["length"].to_numpy()
        return lengths


def take_sample(request: Mapping[str, Any]) -> Sample:
    """Take `rows` of the training rows of the experiment planned in `directory`; always the same ones."""
    return Sample(*take_rows(RunDirectory(Path(request["directory"])), request["rows"]))


def num_threads(experiment: Experiment) -> int:
    """Count the threads that a run of this experiment gets."""
    return experiment.runtime.threads or available_cores()
