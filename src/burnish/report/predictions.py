"""Reads predictions/<split>.parquet into confusion, calibration and worst errors."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from burnish.metrics.answer_scores import ANSWERS_JOINED_BY, exact_match
from burnish.metrics.confidence import reliability
from burnish.metrics.sums import Array
from burnish.report.data import CalibrationCurve, Matrix, Mistake, Residuals
from burnish.report.figures import figure

_MOST_LABELS = 20
_MOST_MISTAKES = 12
_MOST_POINTS = 600
_PLACE = "burnish: place"
_COLUMNS = ("row", "file", "file_row", "truth", "predicted", "confidence", "weight")


@dataclass(frozen=True)
class Predictions:
    """What the model said of the labelled rows of one split."""

    split: str
    kind: str
    labels: tuple[str, ...]
    table: pa.Table
    truth: list[Any]
    predicted: list[Any]
    path: Path
    """Where the texts are; only those that are shown are read."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What a label is called on the page, where that is not the label itself."""

    def confusion(self) -> Matrix | None:
        """Count rows, by their weight, by truth and prediction; of many labels, the most frequent."""
        if self.kind not in ("binary", "multiclass"):
            return None
        pairs: dict[tuple[str, str], float] = defaultdict(float)
        for true, said, weight in zip(self.truth, self.predicted, self._weights().tolist(), strict=True):
            pairs[str(true), str(said)] += weight
        seen: dict[str, float] = defaultdict(float)
        for (true, said), number in pairs.items():
            seen[true] += number
            seen[said] += 0
        known = self.labels or tuple(sorted(seen))
        kept = sorted(known, key=lambda label: -seen[label])[:_MOST_LABELS]
        labels = tuple(label for label in known if label in set(kept))
        counts = tuple(tuple(round(pairs[true, said]) for said in labels) for true in labels)
        shown = tuple(self.names.get(label, label) for label in labels)
        return Matrix(self.split, shown, counts, num_labels=max(len(self.labels), len(labels)))

    def calibration(self) -> CalibrationCurve | None:
        """Compare confidence with the share that was right."""
        confidence = self._confidence()
        if confidence is None or self.kind == "regression":
            return None
        right = np.asarray([self._is_right(*pair) for pair in zip(self.truth, self.predicted, strict=True)])
        known = np.isfinite(confidence)
        right, weights = right[known].astype(np.float64), self._weights()[known]
        return CalibrationCurve(self.split, reliability(confidence[known], right, weights))

    def residuals(self) -> Residuals | None:
        """Set what was missed beside what was predicted; of many rows, evenly some."""
        if self.kind != "regression":
            return None
        predicted, truth = np.asarray(self.predicted, float), np.asarray(self.truth, float)
        known = np.flatnonzero(np.isfinite(predicted) & np.isfinite(truth))
        some = known[:: max(1, len(known) // _MOST_POINTS)]
        missed = truth[some] - predicted[some]
        return Residuals(self.split, tuple(predicted[some].tolist()), tuple(missed.tolist())) if len(some) else None

    def label_counts(self) -> dict[str, int]:
        """Count the rows of each label."""
        if self.kind not in ("binary", "multiclass", "multilabel"):
            return {}
        counts = Counter(label for true in self.truth for label in _names(true, kind=self.kind))
        known = (*self.labels, *(set(counts) - set(self.labels)))
        return {self.names.get(label, label): counts[label] for label in known}

    def mistakes(self) -> tuple[Mistake, ...]:
        """List the rows on which the model was surest and wrong, or furthest off."""
        badness = self._badness()
        worst = [at for at in np.argsort(-badness, kind="stable")[:_MOST_MISTAKES].tolist() if badness[at] > 0]
        return tuple(self._mistake(at) for at in worst)

    def _mistake(self, at: int) -> Mistake:
        confidence = self._confidence()
        text = _text(self.path, self.table[_PLACE][at].as_py())
        sure = None if confidence is None else float(confidence[at])
        true, said = (self._written(values[at]) for values in (self.truth, self.predicted))
        return Mistake(self._where(at), text, true, said, sure)

    def _written(self, value: object) -> str:
        if isinstance(value, float):
            return figure(value)
        return ", ".join(self.names.get(name, name) for name in _names(value, kind=self.kind)) or "none"

    def _where(self, at: int) -> str:
        """Name the file and its row; of runs that did not write those down, the row of the split."""
        names = self.table.column_names
        if {"file", "file_row"} <= {*names}:
            return f"{self.table['file'][at].as_py()}, row {self.table['file_row'][at].as_py():,}"
        return f"row {self.table['row'][at].as_py() if 'row' in names else at}"

    def _badness(self) -> Array:
        if self.kind == "regression":
            errors = np.asarray(self.predicted, float) - np.asarray(self.truth, float)
            return np.asarray(np.nan_to_num(np.abs(errors), nan=np.inf))
        wrong = np.asarray([not self._is_right(*pair) for pair in zip(self.truth, self.predicted, strict=True)], float)
        confidence = self._confidence()
        return np.asarray(wrong if confidence is None else wrong * np.nan_to_num(confidence, nan=1.0))

    def _is_right(self, true: object, said: object) -> bool:
        if self.kind != "spans":
            return true == said
        return exact_match(str(said), tuple(str(true).split(ANSWERS_JOINED_BY))) > 0

    def _confidence(self) -> Array | None:
        if "confidence" not in self.table.column_names:
            return None
        return np.asarray(self.table["confidence"].to_numpy(), dtype=np.float64)

    def _weights(self) -> Array:
        if "weight" not in self.table.column_names:
            return np.ones(len(self.table))
        return np.asarray(self.table["weight"].to_numpy(), dtype=np.float64)


def read_predictions(path: Path, *, kind: str, labels: tuple[str, ...], names: Mapping[str, str]) -> Predictions | None:
    """Read one split; None when there is no such file or it tells no truth."""
    try:
        present = pq.read_schema(path).names
        table = pq.read_table(path, columns=[name for name in _COLUMNS if name in present])
    except (OSError, pa.ArrowException):
        return None
    if not {"truth", "predicted"} <= set(present) or not table.num_rows:
        return None
    table = table.append_column(_PLACE, pa.array(np.arange(table.num_rows))).filter(pc.is_valid(table["truth"]))
    if "weight" in present:
        table = table.filter(pc.not_equal(table["weight"], 0))  # no score counts them
    truth, predicted = table["truth"].to_pylist(), table["predicted"].to_pylist()
    return Predictions(path.stem, kind, labels, table, truth, predicted, path, names)


def _text(path: Path, place: int) -> str:
    file = pq.ParquetFile(path)
    for group in range(file.num_row_groups if "text" in file.schema_arrow.names else 0):
        size = file.metadata.row_group(group).num_rows
        if place < size:
            return str(file.read_row_group(group, columns=["text"])["text"][place].as_py())
        place -= size
    return ""


def _names(value: object, *, kind: str) -> list[str]:
    if isinstance(value, list):
        return list(map(str, value))
    return [name for name in str(value).split(";") if name] if kind == "multilabel" else [str(value)]
