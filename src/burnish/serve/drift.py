"""Compares the rows that come with those of training: shares over about the last thousand rows of a model."""

from collections.abc import Mapping
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.artifact.signature import InputField, Signature
from burnish.spec.values import Array, Outcome

_ROWS_KEPT = 1000
"""After so many rows, what came before counts for half."""
_TEXTS = ("text", "texts", "words")
Shares = Mapping[str, Mapping[str, float]]
"""By measure and column, or class."""


class Drift:
    """Sums that fade, so that shares are those of the last rows, next to the shares of the training rows."""

    def __init__(self, signature: Signature) -> None:
        self._inputs = {field.name: field for field in signature.inputs}
        self._classes = {label.value: label.share for label in signature.answer.classes}
        self._known = {name: _known_values(field) for name, field in self._inputs.items()}
        self._sums: dict[str, dict[str, float]] = {}
        self._counted: dict[str, float] = {}
        self._alone = Lock()

    @property
    def training(self) -> Shares:
        """The shares of the training rows, as far as the artifact knows them."""
        fields = self._inputs.values()
        return {
            "missing_share": {each.name: each.missing_share for each in fields if each.missing_share is not None},
            "unseen_share": {each.name: 0.0 for each in fields if self._known[each.name] is not None},
            "outside_share": {each.name: 0.0 for each in fields if each.seen is not None and each.kind != "date"},
            "length_mean": {each.name: each.lengths.mean or 0.0 for each in fields if each.lengths is not None},
            "class_share": {name: share for name, share in self._classes.items() if share is not None},
        }

    @property
    def serving(self) -> Shares:
        """The same of the rows that came."""
        with self._alone:
            return {
                measure: {name: total / max(1e-9, self._counted[measure]) for name, total in sums.items()}
                for measure, sums in self._sums.items()
            }

    def observe_rows(self, table: pa.Table) -> None:
        """Look at rows as they were read."""
        found: dict[str, dict[str, float]] = {}
        for name, column in zip(table.column_names, table.columns, strict=True):
            if name in self._inputs:
                for measure, total in self._measure(self._inputs[name], column):
                    found.setdefault(measure, {})[name] = total
        self._add(found, rows=len(table), total=len(table))

    def observe_answers(self, outcome: Outcome) -> None:
        """Look at predicted classes, counted as those of the training rows were: labels by row, and tags by word."""
        counts = _count_labels(outcome)
        if counts is not None and self._classes:
            found = dict(zip(outcome.labels, counts.tolist(), strict=True))
            total = int(counts.sum()) if outcome.kind == "tags" else len(outcome.rows)
            self._add({"class_share": found}, rows=len(outcome.rows), total=total)

    def _measure(self, field: InputField, column: pa.ChunkedArray) -> list[tuple[str, float]]:
        found = [("missing_share", float(column.null_count))]
        known = self._known[field.name]
        if known is not None and pa.types.is_string(column.type):
            unseen = pc.invert(pc.is_in(column, value_set=known, skip_nulls=False))
            found.append(("unseen_share", float((pc.sum(unseen).as_py() or 0) - column.null_count)))
        elif field.kind in _TEXTS and pa.types.is_string(column.type):
            found.append(("length_mean", float(pc.sum(pc.utf8_length(column)).as_py() or 0)))
        elif field.seen is not None and pa.types.is_floating(column.type):
            is_outside = pc.or_(pc.less(column, field.seen.lowest), pc.greater(column, field.seen.highest))
            found.append(("outside_share", float(pc.sum(is_outside).as_py() or 0)))
        return found

    def _add(self, found: Mapping[str, Mapping[str, float]], *, rows: int, total: int) -> None:
        kept = 0.5 ** (rows / _ROWS_KEPT)
        with self._alone:
            for measure, totals in found.items():
                sums = self._sums.setdefault(measure, {})
                for name, amount in totals.items():
                    sums[name] = kept * sums.get(name, 0.0) + amount
                self._counted[measure] = kept * self._counted.get(measure, 0.0) + total


def _count_labels(outcome: Outcome) -> Array | None:
    """Count each label; None where an answer is none."""
    size = len(outcome.labels)
    if outcome.kind in ("binary", "multiclass"):
        return np.bincount(outcome.decisions.astype(np.int64), minlength=size)
    if outcome.kind == "multilabel":
        return np.asarray(outcome.decisions.sum(axis=0))
    if outcome.kind == "tags" and outcome.answers is not None:
        tags = pc.index_in(pc.list_flatten(outcome.answers["tags"]), value_set=pa.array(outcome.labels, pa.string()))
        return np.bincount(tags.to_numpy(), minlength=size)
    return None


def _known_values(field: InputField) -> pa.Array | None:
    """Give the values of a category if all of them are known."""
    is_whole = field.kind == "category" and field.values and len(field.values) == field.num_values
    return pa.array(field.values, pa.string()) if is_whole else None
