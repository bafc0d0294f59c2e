"""Finds columns that give the target away: one of them alone tells it, which a real question hardly ever allows."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from burnish.metrics.classification import RocAuc
from burnish.metrics.regression import Spearman
from burnish.spec.values import Array, ColumnDoubt, Outcome, Profile
from burnish.tasks.labels import LabelColumns
from burnish.tasks.tabular.frame import ColumnFrame
from burnish.tasks.tabular.guess import guess
from burnish.tasks.tabular.plan import TablePlan

_MOST_BINS, _ROWS_A_BIN = 256, 10
_FEWEST_ROWS = 100
"""With fewer rows chance alone may look like knowledge."""
_LEAST_CORRELATION, _LEAST_AREA = 0.98, 0.97
_MOST_ROWS, _MOST_CELLS = 20_000, 2_000_000
"""An audit looks at so many rows, and at fewer where there are many classes."""


def find_doubts(
    frame: ColumnFrame, plan: TablePlan, *, target: LabelColumns, profile: Profile
) -> Iterator[ColumnDoubt]:
    """Doubt columns that leak the target, and those that are stated although they number the rows or hold one value."""
    if profile.kind in ("binary", "multiclass", "regression"):
        names = [column.name for column in plan.columns]
        for name, score in giveaways(frame, names, target=target, kind=profile.kind).items():
            yield ColumnDoubt(
                f"`{name}` almost determines `{target.names[0]}` by itself (it scores {score:.3f}), which can make "
                f"scores too good: if it is known only afterwards, set task.columns.{name}: drop",
                is_leak=True,
            )
    for name, why in plan.dropped.items():
        yield ColumnDoubt(f"`{name}` is not learned from: {why}", is_told=True)
    beginning = ColumnFrame(frame.table.slice(0, _MOST_ROWS), frame.derived)
    for name in (column.name for column in plan.columns if not column.is_guessed):
        found = guess(beginning, name)
        if found.kind == "drop":
            yield ColumnDoubt(f"`{name}` is learned from, as task.columns says, although {found.why}")


def giveaways(frame: ColumnFrame, names: Sequence[str], *, target: LabelColumns, kind: str) -> dict[str, float]:
    """Give the columns that alone score nearly all there is, on rows they did not learn from, each with that score."""
    _, labels = _truth(frame, target, kind)
    num_rows = min(len(frame), _MOST_ROWS, _MOST_CELLS // max(1, len(labels)))
    if num_rows < len(frame):
        places = np.linspace(0, len(frame) - 1, num_rows).astype(np.int64)
        frame = ColumnFrame(frame.table.take(pa.array(places)), frame.derived)
    if num_rows < _FEWEST_ROWS:
        return {}
    truth, labels = _truth(frame, target, kind)
    found = {name: _score(_codes(frame, name), truth, kind=kind, labels=labels) for name in names}
    least = _LEAST_CORRELATION if kind == "regression" else _LEAST_AREA
    return {name: score for name, score in found.items() if score >= least}


def _truth(frame: ColumnFrame, columns: LabelColumns, kind: str) -> "tuple[Array, tuple[str, ...]]":
    table = pa.table({columns.names[0]: frame.column(columns.names[0])})
    if kind == "regression":
        return np.asarray(columns.numbers(table)[0], dtype=np.float64), ()
    labels = columns.classes(table)
    return np.asarray(columns.class_indices(table, labels)[0]), labels


def _codes(frame: ColumnFrame, name: str) -> "Array":
    """Number the values of a column from 0, those of a quantity by ranges of some rows; the missing are a value too."""
    numbers = frame.numbers(name)
    if not numbers.fits():
        return np.asarray(frame.words(name).codes + 1)
    known = numbers.values[np.isfinite(numbers.values)]
    num_bins = min(_MOST_BINS, 1 + len(known) // _ROWS_A_BIN)
    cuts = np.unique(np.quantile(known, np.linspace(0, 1, num_bins))) if len(known) else np.zeros(0)
    return np.where(np.isfinite(numbers.values), 1 + np.searchsorted(cuts, numbers.values), 0)


def _score(codes: "Array", truth: "Array", *, kind: str, labels: Sequence[str]) -> float:
    """Learn from every other row what the target is at each value, and score the rows between."""
    learned, asked = np.arange(0, len(codes), 2), np.arange(1, len(codes), 2)
    columns = truth[:, None] if kind == "regression" else (truth[:, None] == np.arange(len(labels))).astype(np.float64)
    means = _means(codes[learned], columns[learned], size=int(codes.max()) + 1)[codes[asked]]
    outputs = means[:, 0] if kind == "regression" else means
    metric = Spearman() if kind == "regression" else RocAuc()
    outcome = Outcome(kind, asked, outputs, outputs, truth[asked], tuple(labels))
    scores: Mapping[str, Array] = metric.scores(outcome)
    return float(scores[metric.names()[0]][0])


def _means(codes: "Array", columns: "Array", *, size: int) -> "Array":
    """Average each column by code, a code with few rows leaning towards the whole."""
    counts = np.bincount(codes, minlength=size)[:, None]
    sums = np.stack([np.bincount(codes, weights=column, minlength=size) for column in columns.T], axis=1)
    return np.asarray((sums + columns.mean(axis=0)) / (counts + 1))
