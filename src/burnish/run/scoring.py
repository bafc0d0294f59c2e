"""Scores a split with a learner."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from burnish.artifact.predictor import views
from burnish.data.batches import evaluation_plan, evaluation_size
from burnish.dist.world import Solo, World
from burnish.engine.evaluate import Fitting, Infer, infer_all, plainly
from burnish.metrics.tally import Tally
from burnish.run.prepare import Prepared
from burnish.run.selection import metrics_of
from burnish.spec.experiment import Experiment
from burnish.spec.protocols import Metric
from burnish.spec.values import Outcome


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
        fitting: Fitting = plainly,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Outcome:
        """Predict a split, together with the other processes of the run."""
        features = self.prepared.features[split]
        lengths = features["length"].to_numpy()
        outputs = infer_all(
            infer,
            self.prepared.collate(split),
            evaluation_plan(lengths, examples=evaluation_size(lengths)),
            draws=views(self.experiment),
            world=self.world,
            fitting=fitting,
            progress=progress,
        )
        return self.experiment.task.decode(outputs, self.prepared.profile, self.prepared.rows[split].table)

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
