"""The rows that all contestants work on: the same random part of an experiment's training rows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from burnish.dist.world import available_cores
from burnish.run.directory import RunDirectory
from burnish.run.plan import read_plan
from burnish.run.prepare import prepare
from burnish.run.scoring import Scorer
from burnish.spec.experiment import Experiment

if TYPE_CHECKING:
    from burnish.spec.values import Array

_SEED = 0


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
    def lengths(self) -> "Array":
        """Tokens of each example, special ones counted."""
        lengths: Array = self.scorer.prepared.features["train"]["length"].to_numpy()
        return lengths

    @property
    def texts(self) -> list[list[str]]:
        """The columns that a prediction reads, as text."""
        table = self.scorer.prepared.rows["train"].table
        rows = self.scorer.prepared.features["train"]["row"].to_numpy()
        return [table[name].take(rows).to_pylist() for name in self.experiment.task.input_columns]


def sample_of(request: Mapping[str, Any]) -> Sample:
    """Take `rows` of the rows of the experiment planned in `directory`; the same ones for everybody who asks."""
    directory = RunDirectory(Path(request["directory"]))
    experiment = read_plan(directory)
    prepared = prepare(experiment, directory, tell=lambda _sentence: None, is_recorded=False)
    features = prepared.features["train"]
    chosen = chosen_rows(len(features), request["rows"])
    part = replace(prepared, features={**prepared.features, "train": features.take(chosen)})
    return Sample(Scorer(experiment, part), len(features))


def chosen_rows(total: int, rows: int) -> "Array":
    """Choose rows by chance, in their order; all of them when there are no more."""
    chosen: Array = np.sort(np.random.default_rng(_SEED).permutation(total)[:rows])
    return chosen


def num_threads(experiment: Experiment) -> int:
    """Tell how many threads every contestant gets."""
    return experiment.runtime.threads or available_cores()
