"""Scores a split with a learner, task by task."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Literal

from burnish.artifact.predictor import predict_features
from burnish.dist.world import Solo, World
from burnish.engine.evaluate import Fitting, Infer, plainly
from burnish.metrics.tally import Tally, mean_score
from burnish.run.preparation.prepared_data import PreparedData
from burnish.run.selection import LOSS, judging, loss_scores, main_metric, mean_loss, metrics_of, selection
from burnish.spec.experiment import Experiment
from burnish.spec.parts import ALONE, MEAN, divide_tasks, prefix
from burnish.spec.protocols import Metric
from burnish.spec.values import Outcome, Score, Times


@dataclass(frozen=True)
class Scorer:
    """Score the splits of one run, or of one task of it."""

    experiment: Experiment
    prepared: PreparedData
    world: World = field(default_factory=Solo)

    @property
    def parts(self) -> "dict[str, Scorer]":
        """Give the scorer of each task by name."""
        experiments = divide_tasks(self.experiment)
        return {
            name: Scorer(experiments[name], PreparedData({ALONE: part}), self.world)
            for name, part in self.prepared.parts.items()
        }

    @property
    def metrics(self) -> Sequence[Metric]:
        """Give the metrics asked for, or the task's own."""
        return metrics_of(self.experiment, self.prepared.profile)

    def selection(self) -> tuple[str, Literal["max", "min"]]:
        """Give the score by which the best checkpoint is told, and its direction."""
        score = self.experiment.train.select.score
        parts = self.parts
        if ALONE not in parts and score in (None, MEAN, LOSS):
            return (LOSS, "min") if score == LOSS else (MEAN, "max")
        name = ALONE if ALONE in parts else str(score).partition("/")[0]
        part = parts[name]
        num_rows = len(part.prepared.rows["validation"])
        losses = loss_scores(part.experiment)
        chosen, direction = selection(part.experiment.train.select, part.metrics, losses=losses, num_rows=num_rows)
        return prefix(name, chosen), direction

    def headline(self) -> str:
        """Name the score that the run is judged by."""
        if ALONE not in self.parts:
            return self.selection()[0]
        return judging(self.experiment.train.select, self.metrics)

    def is_lower_better(self, score: str) -> bool:
        """Tell whether a score is an error or a loss; the mean score of several tasks never is."""
        return score == LOSS or any(
            metric.better == "lower"
            for name, part in self.parts.items()
            for metric in part.metrics
            if score in (prefix(name, each) for each in metric.names())
        )

    def outcome(
        self,
        split: str,
        infer: Infer,
        *,
        fitting: Fitting = plainly,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Outcome:
        """Predict a split of one task, together with the other processes of the run."""
        began = perf_counter()
        outputs = predict_features(
            self.experiment,
            self.prepared.features[split],
            infer,
            collate=self.prepared.collate(split),
            world=self.world,
            fitting=fitting,
            progress=progress,
        )
        only = self.prepared.parts[ALONE]
        outcome = self.experiment.task.decode(outputs, only.profile, only.rows[split].table)
        return replace(only.encoder.put_into_words(outcome), times=Times(predict_seconds=perf_counter() - began))

    def scored(self, outcomes: Mapping[str, Outcome], *, intervals: bool = True) -> dict[str, Score]:
        """Score what was said of a split, task by task."""
        parts = self.parts
        said = {name: (part.metrics, outcomes.get(name)) for name, part in parts.items()}
        return scored(said, intervals=intervals)

    def outcomes(
        self,
        split: str,
        infer: Infer,
        *,
        fitting: Fitting,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> dict[str, Outcome]:
        """Predict a split of every task that has it."""
        return {
            name: part.outcome(split, infer, fitting=fitting, progress=progress)
            for name, part in self.parts.items()
            if split in part.prepared.features
        }

    def scores(self, split: str, infer: Infer, *, fitting: Fitting) -> Mapping[str, float]:
        """Predict and score a split of every task that has it."""
        outcomes = self.outcomes(split, infer, fitting=fitting)
        scores = {name: score.value for name, score in self.scored(outcomes, intervals=False).items()}
        # Processes decide by these numbers: on unlike machines a last digit could differ, so the first one's hold.
        return self.world.gather(scores)[0]  # type: ignore[no-any-return]  # what was given, back


def scored(parts: Mapping[str, tuple[Sequence[Metric], Outcome | None]], *, intervals: bool = True) -> dict[str, Score]:
    """Score the outcome of each task by its metrics.

    If all of several tasks were scored, their mean stands first, and the mean of their losses last.
    """
    known = {
        name: (metrics, outcome)
        for name, (metrics, outcome) in parts.items()
        if outcome is not None and outcome.truth is not None
    }
    each = {name: Tally(metrics, [outcome]).scored(intervals=intervals) for name, (metrics, outcome) in known.items()}
    found = {prefix(name, score): figure for name, scores in each.items() for score, figure in scores.items()}
    if ALONE in parts or len(known) < len(parts):
        return found
    mains = {name: (main_metric(metrics), outcome) for name, (metrics, outcome) in known.items()}
    # Those that the mean is of come right behind it: a line on the screen has room for a few.
    first = [prefix(name, metric.names()[0]) for name, (metric, _) in mains.items()]
    mean = mean_score(list(mains.values()), intervals=intervals)
    loss = mean_loss([{score: figure.value for score, figure in scores.items()} for scores in each.values()])
    mean_of_losses = {} if loss is None else {LOSS: Score(loss)}
    return {MEAN: mean, **{score: found[score] for score in first}, **found, **mean_of_losses}
