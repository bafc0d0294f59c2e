"""Measures, once a run is over, the permutation importance of each column and the scores of slices."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.artifact.predictor import Predictor
from burnish.data.batching.rng import generator
from burnish.errors import DataError
from burnish.metrics.tally import Tally
from burnish.spec.protocols import Metric
from burnish.spec.values import Array, Outcome
from burnish.tasks.tabular.frame import ColumnFrame
from burnish.tasks.tabular.options import Derived

_REPEATS, _FEWER_REPEATS, _MANY_COLUMNS = 5, 2, 40
"""How often a column is shuffled: less often where many columns would make it long."""
_FEWEST_ROWS = 10
"""A slice of fewer rows says nothing."""
_MOST_VALUES = 12
_RESAMPLES = 200
_NUM_RANGES = 4
_OF_POSITIVES = ("f1", "recall", "acc_and_f1")
"""Scores that would be 0 on a slice without rows of the positive class, however good the model is."""


@dataclass(frozen=True)
class Inspection:
    """Look at one split with a finished model."""

    predictor: Predictor
    table: pa.Table
    outcome: Outcome
    metrics: Sequence[Metric]
    headline: str
    lengths: Array
    """The tokens of each row; of a row of a table, always the same number."""

    def look(self, *, seed: int) -> dict[str, Any]:
        """Importance and slices as JSON values, as far as the task has options for them; texts also by length."""
        task = self.predictor.task
        own = [each for column in getattr(task, "slices", ()) for each in self._slices(column)]
        num_rows = getattr(task, "importance", 0)
        return {
            "score": self.headline,
            "importance": dict(self._importance(num_rows, seed=seed)) if num_rows else {},
            "slices": [*own, *self._score_slices("length in tokens", _ranges(self.lengths))] if self._vary() else own,
        }

    def _vary(self) -> bool:
        return len(np.unique(self.lengths)) > _NUM_RANGES

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
        return self._score_slices(column, slices_of(self.table, column, derived=derived))

    def _score_slices(self, name: str, slices: Iterable[tuple[str, Array]]) -> Iterator[Mapping[str, Any]]:
        for value, mask in slices:
            inside = mask[self.outcome.rows]
            if int(inside.sum()) >= _FEWEST_ROWS:
                part = self.outcome.part(inside)
                judged = Tally([self._metric], [part]).scored(resamples=_RESAMPLES)[self.headline]
                scores = dict(_scores(part, self.metrics))
                found = {"column": name, "value": value, "rows": int(inside.sum()), "scores": scores}
                is_defined = scores.get(self.headline, judged.value) is not None
                yield {**found, "interval": [judged.low, judged.high] if is_defined else None}


def _scores(outcome: Outcome, metrics: Sequence[Metric]) -> Iterator[tuple[str, float | None]]:
    for metric in metrics:
        name = metric.names()[0]
        value = float(metric.scores(outcome)[name][0])
        is_defined = bool(np.isfinite(value)) and not (name in _OF_POSITIVES and _has_no_positives(outcome))
        yield name, value if is_defined else None


def _has_no_positives(outcome: Outcome) -> bool:
    return outcome.kind == "binary" and outcome.truth is not None and not np.any(outcome.truth == 1)


def slices_of(table: pa.Table, column: str, *, derived: Mapping[str, Derived]) -> Iterator[tuple[str, "Array"]]:
    """Give each frequent value with the rows that hold it, or four ranges of a quantity, and the missing."""
    if column not in table.column_names and column not in derived:
        raise DataError(f"task.slices: there is no column `{column}`; there are {', '.join(table.column_names)}")
    frame = ColumnFrame(table, derived)
    words = frame.words(column)
    numbers = frame.numbers(column)
    distinct = pc.drop_null(pc.unique(words.values))
    if len(distinct) > _MOST_VALUES and numbers.fits():
        yield from _ranges(numbers.values)
    else:
        codes = pc.index_in(words.values, value_set=distinct).fill_null(-1).to_numpy(zero_copy_only=False)
        of_row = words.lookup(codes.astype(np.int64), missing=-1)
        counts = np.bincount(of_row[of_row >= 0], minlength=len(distinct))
        for at in np.argsort(-counts, kind="stable")[:_MOST_VALUES].tolist():
            yield str(distinct[at].as_py()), of_row == at
    yield "missing", words.codes < 0


def _ranges(values: "Array") -> "Iterator[tuple[str, Array]]":
    known = values[np.isfinite(values)]
    cuts = np.unique(np.quantile(known, np.linspace(0, 1, _NUM_RANGES + 1)))
    for low, high in pairwise(cuts.tolist()):
        is_last = high == cuts[-1]
        inside = (values >= low) & ((values <= high) if is_last else (values < high))
        yield f"{low:g} to {high:g}", inside
