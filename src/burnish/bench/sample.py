"""The rows that all contestants work on: the same random part of an experiment's training rows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from burnish.data.batches import padded_sizes, plan_epoch, spread
from burnish.dist.world import available_cores
from burnish.run.directory import RunDirectory
from burnish.run.plan import read_plan
from burnish.run.prepare import Prepared, prepare
from burnish.run.scoring import Scorer
from burnish.spec.experiment import Batching, Experiment
from burnish.spec.parts import ALONE, only_part
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
    def prepared(self) -> Prepared:
        """The rows and their features."""
        return self.scorer.prepared.parts[ALONE]

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
    experiment = only_part(read_plan(directory), why="contests of speed are held with one")
    prepared = prepare(experiment, directory, tell=lambda _sentence: None, is_recorded=False).parts[ALONE]
    features = prepared.features["train"]
    lengths = features["length"].to_numpy()
    chosen = chosen_rows(lengths, request["rows"], batching=experiment.train.batch)
    part = replace(prepared, features={**prepared.features, "train": features.take(chosen)})
    return Sample(Scorer(experiment, part), len(features))


def chosen_rows(lengths: "Array", rows: int, *, batching: Batching) -> "Array":
    """Choose rows, in their order; all of them when there are no more.

    Whole batches are taken, short and long ones as often as in an epoch of the whole data set: rows drawn one by one
    would be less alike in length than those that meet in a batch there, and padding would cost more than it does.
    """
    if len(lengths) <= rows:
        return np.arange(len(lengths))
    random = np.random.default_rng(_SEED)
    plan = plan_epoch(lengths, seed=_SEED, epoch=0, batching=batching)
    count = max(1, round(rows * len(plan) / len(lengths)))
    taken = np.concatenate([plan[which] for which in spread(padded_sizes(plan, lengths), count)])
    others = np.setdiff1d(np.arange(len(lengths)), taken)
    return np.sort(np.concatenate([random.permutation(taken), random.permutation(others)])[:rows])


def num_threads(experiment: Experiment) -> int:
    """Tell how many threads every contestant gets."""
    return experiment.runtime.threads or available_cores()
