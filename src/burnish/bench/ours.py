"""Burnish as a contestant: the parts that a run is assembled from, an epoch at a time."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from time import perf_counter
from typing import Any

from burnish.artifact.predictor import Predictor
from burnish.bench.contestant import Referee
from burnish.bench.pairs import Block
from burnish.bench.sample import sample_of
from burnish.engine.feed import Feed, Pupil
from burnish.engine.learner_torch import Learner
from burnish.run.assemble import build_feed, build_learner, build_stream
from burnish.spec.values import Batch, StepResult


def train(request: Mapping[str, Any], referee: Referee) -> None:
    """Train an epoch of the sample each turn."""
    sample = sample_of(request)
    scorer = sample.scorer
    pupil = build_learner(scorer.experiment, scorer.prepared, scorer.world)
    assert isinstance(pupil, Learner), "the race is one of networks"
    learner = Timed(pupil)
    stream = build_stream(scorer.experiment, scorer.prepared, scorer.world)
    with closing(build_feed(scorer, learner, stream=stream)) as feed:
        referee.ready()
        while referee.turn():
            referee.report(_epoch(feed, learner))


def score(request: Mapping[str, Any], referee: Referee) -> None:
    """Predict the encoded sample each turn, as an evaluation during training does."""
    sample = sample_of(request)
    scorer = sample.scorer
    learner = build_learner(scorer.experiment, scorer.prepared, scorer.world)
    referee.repeat(lambda: scorer.outcome("train", learner.infer), lengths=sample.lengths)


def answer(request: Mapping[str, Any], referee: Referee) -> None:
    """Predict the texts of the sample each turn, tokenising included, as `burnish predict` does."""
    sample = sample_of(request)
    prepared, names = sample.prepared, sample.experiment.task.input_columns
    learner = build_learner(sample.experiment, prepared, sample.scorer.world)
    predictor = Predictor(sample.experiment, prepared.profile, prepared.encoder, learner.infer)
    rows = prepared.features["train"]["row"].to_numpy()
    table = prepared.rows["train"].table.select(list(names)).take(rows)
    referee.repeat(lambda: predictor.outcome(table), lengths=sample.lengths)


class Timed:
    """A learner that counts its steps, and the seconds in them: the rest of the time it waited to be fed."""

    def __init__(self, learner: Pupil) -> None:
        self._learner = learner
        self.steps = 0
        self.seconds = 0.0

    @property
    def learning_rate(self) -> float:
        """Tell the rate of the last step."""
        return self._learner.learning_rate

    def step(self, batches: "Sequence[Batch]", *, step: int, factor: float) -> StepResult:
        """Learn, and count the time."""
        began = perf_counter()
        result = self._learner.step(batches, step=step, factor=factor)
        self.seconds += perf_counter() - began
        self.steps += 1
        return result


def _epoch(feed: Feed, learner: Timed) -> Block:
    began, worked = perf_counter(), learner.seconds
    last = feed.cursor()["epoch"] + 1
    examples = tokens = 0
    while feed.cursor()["epoch"] < last:
        taken = feed.advance(learner.steps, 1.0)
        examples += taken.result.examples
        tokens += taken.result.tokens
    seconds = perf_counter() - began
    return Block(seconds, examples, tokens, waited_seconds=seconds - (learner.seconds - worked))
