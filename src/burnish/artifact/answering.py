"""Answers a payload: its rows are read, predicted and written in the form that goes with theirs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from burnish.artifact.predictor import Predictor
from burnish.artifact.tables import prediction_columns
from burnish.data.codecs.columns import describe_columns
from burnish.data.codecs.decoded import DEFAULT_LIMITS, DecodedRows, Limits, RowError
from burnish.data.codecs.formats import beside, decode, encode

BadRows = Literal["error", "skip"]


@dataclass(frozen=True)
class Answered:
    """The bytes to send back, and what there is to say of the rows."""

    body: bytes
    num_rows: int
    errors: tuple[RowError, ...]
    """What is wrong with the rows that were skipped."""
    unused: tuple[str, ...]
    """Names in the payload that the model has no column for."""
    beside: Mapping[str, bytes] = field(default_factory=dict)
    """Further files that the format has, by name."""


def answer(
    predictor: Predictor,
    payload: bytes,
    *,
    format: str,
    bad_rows: BadRows = "error",
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Answered:
    """Predict the rows of a payload; refuse bad ones all at once, or skip them and say in their places why."""
    rows = decode(payload, describe_columns(predictor.task, predictor.profile), format=format, limits=limits)
    if bad_rows == "error":
        rows.refuse_errors()
    answers = _predicted(predictor, rows, progress=progress)
    body = encode(rows, answers, format=format)
    return Answered(body, rows.num_rows, rows.errors, rows.unused, beside(rows, answers, format=format))


def _predicted(predictor: Predictor, rows: DecodedRows, *, progress: Callable[[int, int], None]) -> pa.Table:
    if not len(rows.table):
        return pa.table({"predicted": pa.array([], pa.string())})
    return pa.table(prediction_columns(predictor.outcome(rows.table, progress=progress)))
