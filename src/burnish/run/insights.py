"""Measures, once a run is over, the permutation importance of each column and the scores of slices."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from burnish.artifact.predictor import Predictor
from burnish.data.batching.rng import generator
from burnish.spec.protocols import Inspected, Metric
from burnish.spec.values import Outcome
from burnish.tasks.tabular.slices import slices_of

if TYPE_CHECKING:
    pass

_REPEATS, _FEWER_REPEATS, _MANY_COLUMNS = 5, 2, 40
"""How often a column is shuffled: less often where many columns would make it long."""
_FEWEST_ROWS = 10
"""A slice of fewer rows says nothing."""


@dataclass(frozen=True)
class Inspection:
    """Look at one split with a finished model."""

    predictor: Predictor
    table: pa.Table
    outcome: Outcome
    metrics: Sequence[Metric]
    headline: str

    def look(self, task: Inspected, *, seed: int) -> dict[str, Any]:
        """Give importance and slices as JSON values."""
        return {
            "score": self.headline,
            "importance": dict(self._importance(task.importance, seed=seed)) if task.importance else {},
            "slices": [each for column in task.slices for each in self._slices(column)],
        }

    @property
    def _metric(self) -> Metric:
        return next(metric for metric in self.metrics if self.headline in metric.names())

    def _importance(self, num_rows: int, *, seed: int) -> Iterator[tuple[str, Mapping[str, float] | None]]:
        """Measure by how much the headline score worsens when a column is shuffled: the mean, the least, the most.

        None where the score is not defined, as on rows of one class.
        """
        random = generator(seed, "importance", epoch=0)
        table = self.table.take(pa.array(np.sort(random.permutation(len(self.table))[:num_rows])))
        whole = self.predictor.outcome(table)
        sign = 1 if self._metric.better == "higher" else -1
        names = self.predictor.input_columns
        repeats = _REPEATS if len(names) <= _MANY_COLUMNS else _FEWER_REPEATS
        for name in names:
            # The truth stays: it may be derived from the very column that is shuffled.
            said = [
                replace(self._shuffled(table, name, random), truth=whole.truth, weights=whole.weights)
                for _ in range(repeats)
            ]
            losses = [sign * (self._score(whole) - self._score(each)) for each in said]
            found = {"mean": float(np.mean(losses)), "low": min(losses), "high": max(losses)}
            yield name, found if np.all(np.isfinite(losses)) else None

    def _shuffled(self, table: pa.Table, name: str, random: np.random.Generator) -> Outcome:
        mixed = table[name].take(pa.array(random.permutation(len(table))))
        return self.predictor.outcome(table.set_column(table.column_names.index(name), name, mixed))

    def _score(self, outcome: Outcome) -> float:
        return float(self._metric.scores(outcome)[self.headline][0])

    def _slices(self, column: str) -> Iterator[Mapping[str, Any]]:
        derived = getattr(self.predictor.task, "derived", {})
        for value, mask in slices_of(self.table, column, derived=derived):
            inside = mask[self.outcome.rows]
            if int(inside.sum()) >= _FEWEST_ROWS:
                scores = dict(_scores(self.outcome.part(inside), self.metrics))
                yield {"column": column, "value": value, "rows": int(inside.sum()), "scores": scores}


def _scores(outcome: Outcome, metrics: Sequence[Metric]) -> Iterator[tuple[str, float | None]]:
    for metric in metrics:
        name = metric.names()[0]
        value = float(metric.scores(outcome)[name][0])
        yield name, value if np.isfinite(value) else None
