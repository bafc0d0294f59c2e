"""What a study looks for: the score of a trial, on which split, and which way is better."""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from burnish.config.render import document
from burnish.nearest import nearest
from burnish.run.record.directory import RunDirectory
from burnish.run.record.events_file import EventsFile, read_evaluations
from burnish.run.record.result import read_sheet
from burnish.run.selection import LOSS, loss_scores, selection, why_no_loss
from burnish.spec.events import Started
from burnish.spec.experiment import Experiment
from burnish.spec.parts import ALONE, MEAN, divide_tasks, prefix
from burnish.spec.values import Score

_VALIDATION = "validation"


@dataclass(frozen=True)
class Goal:
    """Which score decides; without a name, the one by which a run selects its best checkpoint."""

    split: str
    score: str | None
    falling: frozenset[str]
    """The scores that are better when they are lower."""
    direction: str = "auto"
    losses: tuple[str, ...] = ()
    """What `loss` means: the first of these that a run has."""

    @property
    def name(self) -> str:
        """How a user would write it."""
        return f"{self.split}/{self.score or 'the score that selects'}"

    def curve(self, run: RunDirectory) -> list[float]:
        """Read the score at each evaluation of a trial; only validation has any before the end."""
        found = read_evaluations(run)
        return [each.scores.get(self.name_in(each.scores, run), math.nan) for each in found]

    def final(self, run: RunDirectory, *, split: str | None = None) -> Score | None:
        """Read the score of a trial that came to its end."""
        sheet = read_sheet(run)
        scores = sheet.scores.get(split or self.split) if sheet else None
        return None if not scores else scores.get(self.name_in(dict.fromkeys(scores, 0.0), run))

    def name_in(self, scores: Mapping[str, float], run: RunDirectory) -> str:
        """Name the score among those of a run."""
        if self.losses:
            return next((name for name in self.losses if name in scores), "")
        if self.score is not None:
            return self.score
        started = EventsFile(run.events).last(Started)
        return str(started.event.facts.get("select", "")) if started and isinstance(started.event, Started) else ""

    def expect(self, experiment: Experiment) -> tuple[str, str]:
        """Name the score and which way is better before any trial has begun: for a tuner that must be told."""
        select, known = experiment.train.select, _known_scores(experiment)
        if self.score is None and MEAN not in known:
            metrics = experiment.task.metrics(None) if experiment.metrics is None else experiment.metrics
            return selection(select, metrics, losses=loss_scores(experiment), num_rows=sys.maxsize)
        name = next((each for each in self.losses if each in known), self.score) or select.score or MEAN
        return name, "min" if name in self.falling else "max"

    def settle(self, run: RunDirectory) -> tuple[str, bool] | None:
        """Name split and score, and tell whether lower is better; None if a run ended before it could say so."""
        found = read_evaluations(run)
        name = self.name_in(found[0].scores if found else {}, run)
        is_lower_better = name in self.falling if self.direction == "auto" else self.direction == "min"
        return (f"{self.split}/{name}", is_lower_better) if name else None


def read_goal(metric: str | None, experiment: Experiment) -> tuple[Goal, str | None]:
    """Read `tune.metric`, and say what is wrong with it, if anything."""
    known = _known_scores(experiment)
    falling = frozenset(name for name, is_lower in known.items() if is_lower)
    if metric is None:
        return Goal(_VALIDATION, None, falling, experiment.train.select.direction), None
    splits = (_VALIDATION, "test", *getattr(experiment.data, "also", {}))
    split, slash, score = metric.partition("/")
    if not slash or (split not in splits and metric in known):
        split, score = _VALIDATION, metric
    losses = loss_scores(experiment) if LOSS not in known else ()
    problem = None
    if split not in splits:
        problem = f"tune.metric must begin with one of {', '.join(splits)}, like validation/loss, got {metric!r}"
    elif score not in (allowed := [*known, *([LOSS] if losses else [])]):
        close = nearest(score, allowed)
        hint = f". Did you mean `{split}/{close}`?" if close else ""
        if score == LOSS:
            hint = why_no_loss(experiment) if MEAN in known else ". None of these is the loss."
        or_loss = " or loss" if losses else ""
        problem = f"tune.metric must be one of {', '.join(known)}{or_loss}, on {split}, got {score!r}{hint}"
    return Goal(split, score, falling, losses=losses if score == LOSS else ()), problem


def score_loss(metric: str, experiment: Experiment) -> list[object]:
    """List the metrics of an experiment and the one that tells the loss, where `tune.metric` asks for it in vain.

    Only an experiment of one task is helped; the metrics of several are each its own.
    """
    if metric.rpartition("/")[2] != LOSS or experiment.metrics is None or loss_scores(experiment):
        return []
    tellers = loss_scores(experiment.model_copy(update={"metrics": None}))
    for each in experiment.task.metrics(None):
        # The kind of the labels may not be known yet: the metrics that were named are of the kind that is expected.
        is_fit = any(own.applies(kind) for own in experiment.metrics for kind in getattr(each, "kinds", ()))
        if is_fit and set(each.names()) & set(tellers):
            scored = experiment.model_copy(update={"metrics": (*experiment.metrics, each)})
            return list(document(scored)["metrics"])
    return []


def _known_scores(experiment: Experiment) -> dict[str, bool]:
    """List the scores that an experiment may have, and whether each is better when it is lower."""
    parts = divide_tasks(experiment)
    known = {
        prefix(name, score): metric.better == "lower"
        for name, part in parts.items()
        for metric in (part.task.metrics(None) if part.metrics is None else part.metrics)
        for score in metric.names()
    }
    if ALONE in parts:
        return known
    return {MEAN: False, **known, **({LOSS: True} if loss_scores(experiment) else {})}
