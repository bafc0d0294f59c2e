"""The process that measures speed: it trains and predicts a sample of the rows in turn, and prints how long it took."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter

import numpy as np

from burnish.commands.workers.talk import answer, note
from burnish.data.batching.batches import count_padded_tokens, plan_epoch, spread
from burnish.dist.world import available_cores
from burnish.engine.feed import BatchFeeder, Trainable
from burnish.engine.learner_torch import Learner
from burnish.run.build import build_feed, build_learner, build_stream
from burnish.run.environment_torch import environment
from burnish.run.predicting.scoring import Scorer
from burnish.run.preparation.prepare import prepare
from burnish.run.preparation.prepared_data import PreparedData
from burnish.run.record.directory import RunDirectory
from burnish.run.record.plan import read_plan
from burnish.spec.experiment import Batching
from burnish.spec.parts import ALONE, only_part
from burnish.spec.values import Array, Batch, StepResult

_SEED = 0


@dataclass(frozen=True)
class Block:
    """One stretch of work: how long it took and how much it was."""

    seconds: float
    examples: int = 0
    tokens: int = 0
    waited_seconds: float = 0.0
    """The part of it that was spent waiting for data."""


class Timed:
    """A learner that counts its steps, and the seconds in them: the rest of the time it waited for batches."""

    def __init__(self, learner: Trainable) -> None:
        self._learner = learner
        self.steps = 0
        self.seconds = 0.0

    @property
    def learning_rate(self) -> float:
        """The rate of the last step."""
        return self._learner.learning_rate

    def step(self, batches: Sequence[Batch], *, step: int, factor: float) -> StepResult:
        """Learn, and count the time."""
        began = perf_counter()
        result = self._learner.step(batches, step=step, factor=factor)
        self.seconds += perf_counter() - began
        self.steps += 1
        return result


def measure(argv: Sequence[str]) -> Iterator[dict[str, object]]:
    """Answer with the settings, and then with how long each round took, the first of which only warms up."""
    rounds = int(argv[2])
    scorer, _ = take_rows(RunDirectory(Path(argv[0])), int(argv[1]))
    lengths = scorer.prepared.features["train"]["length"].to_numpy()
    runtime, threads = environment(scorer.experiment.settled_runtime), scorer.experiment.runtime.threads
    yield {"precision": runtime["precision"], "threads": threads or available_cores(), "examples": len(lengths)}
    note("warming up")
    pupil = build_learner(scorer.experiment, scorer.prepared, scorer.world)
    assert isinstance(pupil, Learner), "boosted trees were refused when the command began"
    learner = Timed(pupil)
    stream = build_stream(scorer.experiment, scorer.prepared, scorer.world)
    with closing(build_feed(scorer, learner, stream=stream)) as feed:
        for number in range(1, rounds + 2):
            trained = train_epoch(feed, learner)
            began = perf_counter()
            scorer.outcome("train", pupil.infer)
            scored = Block(perf_counter() - began, len(lengths), int(lengths.sum()))
            yield {"train": asdict(trained), "score": asdict(scored)}
            if number <= rounds:
                note(f"round {number} of {rounds}")


def train_epoch(feed: BatchFeeder, learner: Timed) -> Block:
    """Train one epoch, and tell apart the time in steps from the time spent waiting for batches."""
    began, worked = perf_counter(), learner.seconds
    last = feed.cursor()["epoch"] + 1
    examples = tokens = 0
    while feed.cursor()["epoch"] < last:
        taken = feed.advance(learner.steps, 1.0)
        examples += taken.result.examples
        tokens += taken.result.tokens
    seconds = perf_counter() - began
    return Block(seconds, examples, tokens, waited_seconds=seconds - (learner.seconds - worked))


def take_rows(directory: RunDirectory, rows: int) -> tuple[Scorer, int]:
    """Take some of the training rows of a planned experiment, always the same ones; say how many there are in all."""
    experiment = only_part(read_plan(directory), why="speed is measured with one")
    prepared = prepare(experiment).parts[ALONE]
    features = prepared.features["train"]
    chosen = choose_rows(features["length"].to_numpy(), rows, batching=experiment.train.batch)
    part = replace(prepared, features={**prepared.features, "train": features.take(chosen)})
    return Scorer(experiment, PreparedData({ALONE: part})), len(features)


def choose_rows(lengths: Array, rows: int, *, batching: Batching) -> Array:
    """Choose rows, in their order; all of them when there are no more.

    Whole batches are taken, short and long ones as often as in an epoch of the whole data set: rows drawn one by one
    would be less alike in length than those that meet in a batch there, and padding would cost more than it does.
    """
    if len(lengths) <= rows:
        return np.arange(len(lengths))
    random = np.random.default_rng(_SEED)
    plan = plan_epoch(lengths, seed=_SEED, epoch=0, batching=batching)
    count = max(1, round(rows * len(plan) / len(lengths)))
    taken = np.concatenate([plan[which] for which in spread(count_padded_tokens(plan, lengths), count)])
    others = np.setdiff1d(np.arange(len(lengths)), taken)
    return np.sort(np.concatenate([random.permutation(taken), random.permutation(others)])[:rows])


if __name__ == "__main__":
    answer(measure)
