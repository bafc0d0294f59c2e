"""Burnish as a contestant: the parts that a run is assembled from, an epoch at a time."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

from bench.harness.contestant import Referee
from bench.harness.sample import take_sample
from burnish.artifact.predictor import Predictor
from burnish.commands.workers.speed import Timed, train_epoch
from burnish.dist.world import keep_to_own_cores, world_from_environment
from burnish.engine.learner_torch import Learner
from burnish.run.build import build_feed, build_learner, build_stream


def train(request: Mapping[str, Any], referee: Referee) -> None:
    """Train an epoch of the sample each turn."""
    keep_to_own_cores()
    scorer = replace(take_sample(request).scorer, world=world_from_environment())
    pupil = build_learner(scorer.experiment, scorer.prepared, scorer.world)
    assert isinstance(pupil, Learner), "the race is one of networks"
    learner = Timed(pupil)
    stream = build_stream(scorer.experiment, scorer.prepared, scorer.world)
    with closing(build_feed(scorer, learner, stream=stream)) as feed:
        referee.ready()
        while referee.turn():
            referee.report(train_epoch(feed, learner))


def score(request: Mapping[str, Any], referee: Referee) -> None:
    """Predict the encoded sample each turn, as an evaluation during training does."""
    sample = take_sample(request)
    scorer = sample.scorer
    learner = build_learner(scorer.experiment, scorer.prepared, scorer.world)
    referee.repeat(lambda: scorer.outcome("train", learner.infer), lengths=sample.lengths)


def answer(request: Mapping[str, Any], referee: Referee) -> None:
    """Predict the texts of the sample each turn, tokenising included, as `burnish predict` does."""
    sample = take_sample(request)
    prepared, names = sample.prepared, sample.experiment.task.input_columns
    learner = build_learner(sample.experiment, sample.scorer.prepared, sample.scorer.world)
    predictor = Predictor(sample.experiment, prepared.profile, prepared.encoder, learner.infer)
    rows = prepared.features["train"]["row"].to_numpy()
    table = prepared.rows["train"].table.select(list(names)).take(rows)
    referee.repeat(lambda: predictor.outcome(table), lengths=sample.lengths)
