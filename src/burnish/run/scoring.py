"""Scores a split with a learner, and picks the score that selects."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from burnish.artifact.predictor import views
from burnish.data.batches import evaluation_plan
from burnish.dist.world import Solo, World
from burnish.engine.evaluate import Fitting, Infer, infer_all
from burnish.errors import ConfigError, Problem
from burnish.metrics.tally import Tally
from burnish.run.prepare import Prepared
from burnish.spec.experiment import Experiment
from burnish.spec.protocols import Metric
from burnish.spec.values import Outcome, Profile

EVALUATION_BATCH = 64


@dataclass(frozen=True)
class Scorer:
    """Score the splits of one run."""

    experiment: Experiment
    prepared: Prepared
    world: World = field(default_factory=Solo)

    @property
    def metrics(self) -> Sequence[Metric]:
        """Give the metrics asked for, or the task's own."""
        return metrics_of(self.experiment, self.prepared.profile)

    def outcome(
        self,
        split: str,
        infer: Infer,
        *,
        fitting: Fitting,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Outcome:
        """Predict a split, together with the other processes of the run."""
        features = self.prepared.features[split]
        outputs = infer_all(
            infer,
            self.prepared.collate(split),
            evaluation_plan(features["length"].to_numpy(), examples=EVALUATION_BATCH),
            draws=views(self.experiment),
            world=self.world,
            fitting=fitting,
            progress=progress,
        )
        return self.experiment.task.decode(outputs, self.prepared.profile)

    def tally(self, outcome: Outcome) -> Tally:
        """Score an outcome by every metric."""
        tally = Tally(self.metrics)
        tally.update(outcome)
        return tally

    def scores(self, split: str, infer: Infer, *, fitting: Fitting) -> Mapping[str, float]:
        """Predict and score a split."""
        scores = dict(self.tally(self.outcome(split, infer, fitting=fitting)).scores())
        # Processes decide by these numbers: on unlike machines a last digit could differ, so the first one's hold.
        return self.world.gather(scores)[0]  # type: ignore[no-any-return]  # what was given, back


def metrics_of(experiment: Experiment, profile: Profile) -> Sequence[Metric]:
    """Give the metrics asked for, or the task's own; refuse one that cannot score this kind of labels."""
    asked = experiment.metrics
    if asked is None:
        return experiment.task.metrics(profile)
    odd = [metric.names()[0] for metric in asked if not metric.applies(profile.kind)]
    if odd:
        fitting = ", ".join(metric.names()[0] for metric in experiment.task.metrics(profile))
        raise ConfigError(
            [Problem(f"metrics: {name} does not score {profile.kind} labels; these do: {fitting}") for name in odd]
        )
    return asked


def selection(experiment: Experiment, metrics: Sequence[Metric]) -> tuple[str, Literal["max", "min"]]:
    """Name the score that selects the best checkpoint, and which way is better."""
    select = experiment.train.select
    score = select.score or metrics[0].names()[0]
    owner = next((metric for metric in metrics if score in metric.names()), None)
    if owner is None:
        known = ", ".join(name for metric in metrics for name in metric.names())
        raise ConfigError([Problem(f"train.select: no metric gives a score named {score!r}; there are {known}")])
    if select.direction != "auto":
        return score, select.direction
    return score, "max" if owner.better == "higher" else "min"
