"""A trained model in memory: loaded once, it predicts lists, DataFrames and Arrow tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from burnish.api.frames import is_frame, is_series, like, table_of_frame
from burnish.api.results import Shown
from burnish.artifact.predictor import Predictor, as_predictions, table_of
from burnish.artifact.tables import prediction_columns
from burnish.cli.tables import TextTable
from burnish.cli.verb import Lines
from burnish.commands.predict import absent_columns, find_missing, needed_columns, own_rows, predict_rows, warn
from burnish.data.readers.read import read_table
from burnish.errors import DataError
from burnish.spec.values import Array, Outcome


@dataclass(frozen=True, repr=False)
class Model(Shown):
    """A model that was loaded from a run or an artifact, and has proved that it predicts as it did when saved."""

    path: Path
    predictor: Predictor

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, in the order of their probabilities; none if it predicts numbers."""
        return self.predictor.profile.labels

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a prediction reads."""
        return self.predictor.input_columns

    def predict(self, rows: Any, *, allow_missing: bool = False) -> Any:
        """Predict texts or rows: a list gives a list, a DataFrame or an Arrow table gives the like, row by row.

        A list holds texts, pairs of texts, or mappings from column to value. A DataFrame keeps its index.
        Rows that lack a value which every training row had are refused; with `allow_missing`, a warning tells of it.
        """
        if not len(rows) and not is_frame(rows):
            return []
        outcome = self._outcome(rows, allow_missing=allow_missing)
        is_table = is_frame(rows) or is_series(rows)
        return like(rows, pa.table(prediction_columns(outcome))) if is_table else as_predictions(outcome)

    def predict_proba(self, rows: Any, *, allow_missing: bool = False) -> Any:
        """Give the probability of each class: an array for a list, else a table with a column for each class."""
        if not self.classes:
            raise DataError(f"{self.path} predicts no classes, so there are no probabilities; use predict")
        outputs: Array = self._outcome(rows, allow_missing=allow_missing).outputs
        if not is_frame(rows) and not is_series(rows):
            return outputs
        return like(rows, pa.table({name: outputs[:, at] for at, name in enumerate(self.classes)}))

    def _outcome(self, rows: Any, *, allow_missing: bool) -> Outcome:
        if not is_frame(rows):
            given = own_rows(self.predictor, _mappings(rows), target=str(self.path), allow_missing=allow_missing)
            return self.predictor.outcome(table_of(given, self.predictor.task, profile=self.predictor.profile))
        read = read_table(
            table_of_frame(rows),
            name=f"the {type(rows).__name__}",
            columns=self.columns,
            absent=absent_columns(self.predictor),
            checked_later=() if allow_missing else needed_columns(self.predictor),
        )
        for note in find_missing(self.predictor, read, allow_missing=allow_missing):
            warn(note)
        return predict_rows(self.predictor, read)

    def _lines(self) -> Lines:
        facts = {
            "task": self.predictor.experiment.name,
            "kind": self.predictor.profile.kind,
            "classes": _listed(self.predictor.profile.names or self.classes),
            "columns": _listed(self.columns),
            "artifact": str(self.path),
        }
        return [TextTable(("model", ""), tuple((name, value) for name, value in facts.items() if value))]


def _listed(names: Sequence[str], *, most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" … ({len(names)})" if len(names) > most else "")


def _mappings(rows: Any) -> list[Any]:
    """Give texts and pairs the columns that stand for the model's own; rows that have columns stay as they are."""
    if isinstance(rows, str) or not hasattr(rows, "__iter__") or getattr(rows, "ndim", 1) != 1:
        raise DataError(
            f"predict takes a list of texts or of mappings, a DataFrame or an Arrow table, got {_described(rows)}"
        )
    return [dict(zip(("text", "pair"), _words(row), strict=False)) if _words(row) else row for row in rows]


def _words(row: object) -> Sequence[str]:
    if isinstance(row, str):
        return (row,)
    return row if isinstance(row, tuple) and len(row) == 2 and all(isinstance(each, str) for each in row) else ()


def _described(rows: object) -> str:
    shape = getattr(rows, "shape", None)
    kind = type(rows).__name__
    return (
        f"one {kind}; put it into a list" if isinstance(rows, str) else f"a {kind}{f' of shape {shape}' * bool(shape)}"
    )
