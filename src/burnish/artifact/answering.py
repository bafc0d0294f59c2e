"""Answers a payload: its rows are read, predicted and written in the form that goes with theirs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from burnish.artifact.missing import HOW_TO_ALLOW, count_missing, note_missing
from burnish.artifact.predictor import Predictor
from burnish.artifact.tables import prediction_columns
from burnish.data.codecs.columns import allow_missing as let_miss
from burnish.data.codecs.columns import describe_columns
from burnish.data.codecs.decoded import DEFAULT_LIMITS, DecodedRows, Limits, MissingColumns, RowError, explain_errors
from burnish.data.codecs.formats import beside, decode, encode
from burnish.errors import DataError

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
    notes: tuple[str, ...] = ()
    """What was missing, where that is allowed."""
    beside: Mapping[str, bytes] = field(default_factory=dict)
    """Further files that the format has, by name."""


def answer(
    predictor: Predictor,
    payload: bytes,
    *,
    format: str,
    bad_rows: BadRows = "error",
    allow_missing: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Answered:
    """Predict the rows of a payload; refuse bad ones all at once, or skip them and say in their places why."""
    columns = describe_columns(predictor.task, predictor.profile)
    try:
        rows = decode(payload, let_miss(columns) if allow_missing else columns, format=format, limits=limits)
    except MissingColumns as error:
        raise (DataError(f"{error}\n{HOW_TO_ALLOW}") if error.may_be_allowed else error) from error
    if rows.errors and bad_rows == "error":
        hint = f"\n{HOW_TO_ALLOW}" if rows.lacks_given else ""
        raise DataError(f"{explain_errors(rows.errors, num_rows=rows.num_rows)}{hint}")
    answers = _predicted(predictor, rows, progress=progress)
    body = encode(rows, answers, format=format)
    counts = count_missing(rows.table, columns) if allow_missing else {}
    notes = tuple(note_missing(counts, columns, num_rows=len(rows.table)))
    return Answered(body, rows.num_rows, rows.errors, rows.unused, notes, beside(rows, answers, format=format))


def _predicted(predictor: Predictor, rows: DecodedRows, *, progress: Callable[[int, int], None]) -> pa.Table:
    if not len(rows.table):
        return pa.table({"predicted": pa.array([], pa.string())})
    return pa.table(prediction_columns(predictor.outcome(rows.table, progress=progress)))
