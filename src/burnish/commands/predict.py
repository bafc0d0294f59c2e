"""`burnish predict`: rows in, predictions out."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Literal

from burnish.artifact.locate import EngineChoice, find_artifact
from burnish.data.sources.address import find
from burnish.durable import replace_durably, write_durably, writing_to
from burnish.errors import DataError
from burnish.spec.values import Outcome, Rows
from burnish.storage.address import read_address
from burnish.storage.remote import Folder, keep_trying, writing_at

if TYPE_CHECKING:
    import pyarrow as pa

    from burnish.artifact.answering import Answered, BadRows
    from burnish.artifact.predictor import Prediction, Predictor

MAX_PAYLOAD_BYTES = 1 << 30


def warn(note: str) -> None:
    """Tell a program what to know of its predictions."""
    warnings.warn(note, RuntimeWarning, stacklevel=3)


FORMATS = (".csv", ".tsv", ".jsonl", ".parquet", ".arrow")


def predict(
    target: str,
    rows: Sequence[Mapping[str, Any]],
    *,
    task: str | None = None,
    trust_code: bool = False,
    engine: EngineChoice = "torch",
    allow_missing: bool = False,
    tell: Callable[[str], None] = warn,
) -> "list[Prediction]":
    """Predict rows given as mappings from column to value; `text` and `pair` may stand for the model's own columns.

    A row without a value that every training row had is refused; with `allow_missing`, `tell` gets a note of it.

    A model that learned several tasks is asked for one of them, `task`. Code that it names must be trusted.
    """
    from burnish.artifact.predictor import Predictor

    if isinstance(rows, str) or not isinstance(rows, Sequence):
        raise DataError(
            f"predict takes a list of rows, each a mapping from column to value, got a {type(rows).__name__}; "
            'of a DataFrame, give df.to_dict("records")'
        )
    predictor = Predictor.load(find_artifact(target), task=task, trust_code=trust_code, engine=engine)
    return predictor.predict(own_rows(predictor, rows, target=target, allow_missing=allow_missing, tell=tell))


def own_rows(
    predictor: "Predictor",
    rows: Sequence[Mapping[str, Any]],
    *,
    target: str,
    allow_missing: bool = False,
    tell: Callable[[str], None] = warn,
) -> Sequence[Mapping[str, Any]]:
    """Give rows the columns of a model, which messages call `target`, where `text` and `pair` stand for them.

    Rows that lack what every training row had are refused, or noted where that is allowed.
    """
    from burnish.artifact.missing import count_missing_in_rows, note_missing, refuse_missing
    from burnish.data.codecs.columns import describe_columns

    specs = describe_columns(predictor.task, predictor.profile)
    counts = count_missing_in_rows(rows, specs)
    given = dict.fromkeys(str(name) for row in rows if isinstance(row, Mapping) for name in row)
    if not allow_missing and set(given) & set(predictor.input_columns):  # else it is refused for having no such names
        refuse_missing(counts, num_rows=len(rows), given=given, columns=predictor.input_columns)
    for note in note_missing(counts, specs, num_rows=len(rows)):
        tell(note)
    if predictor.task.reads_rows:
        return rows
    _refuse_wrong_number(rows, predictor.input_columns, target=target)
    return [_rename(row, predictor.input_columns) for row in rows]


@dataclass(frozen=True)
class PredictedFile:
    """The rows of a file with the predictions next to their own columns."""

    table: "pa.Table"
    answers: tuple[str, ...]
    """The names of the columns that were added."""
    notes: tuple[str, ...]
    """Which defaults were used for what the rows lack."""


def predict_file(
    target: str,
    *,
    source: str,
    out: Path | None = None,
    task: str | None = None,
    trust_code: bool = False,
    engine: EngineChoice = "torch",
    allow_missing: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> PredictedFile:
    """Predict every row of a file; with `out`, also write it there with the predictions next to its own columns."""
    if read_address(out) is not None and out is not None:
        options: dict[str, Any] = {"task": task, "trust_code": trust_code, "engine": engine, "progress": progress}
        options["allow_missing"] = allow_missing
        with writing_at(out) as path:
            return predict_file(target, source=source, out=path, **options)
    if out is not None:
        _refuse_place(out, FORMATS)
    find(source, option="the input")  # refuses a file that is not there before the model is loaded
    from burnish.artifact.predictor import Predictor
    from burnish.artifact.tables import refuse_breaks, write_table
    from burnish.data.options import filter_of
    from burnish.data.readers.read import read_file

    predictor = Predictor.load(find_artifact(target), task=task, trust_code=trust_code, engine=engine)
    rows = read_file(
        source,
        columns=predictor.input_columns,
        like=predictor.experiment.data,
        absent=absent_columns(predictor),
        checked_later=() if allow_missing else needed_columns(predictor),
    )
    if out is not None and out.suffix == ".tsv":
        refuse_breaks(rows.table)  # now, not after an hour of predicting
    notes = find_missing(predictor, rows, allow_missing=allow_missing, are_columns_noted=False)
    outcome = predict_rows(predictor, rows, progress=progress)
    notes += predictor.encoder.notes(rows)
    if filter_of(predictor.experiment.data):
        notes.append(f"data.filter is for rows with a target: all {len(rows):,} rows of {source} are predicted")
    table = _append_predictions(rows.table, outcome)
    if out is not None:
        with writing_to(out):
            replace_durably(out, lambda temporary: write_table(table, temporary, suffix=out.suffix))
    return PredictedFile(table, tuple(table.column_names[rows.table.num_columns :]), tuple(notes))


def absent_columns(predictor: "Predictor") -> Literal["error", "default"]:
    """Decide whether rows may lack some of the model's columns: where a default can take the place of all of them."""
    from burnish.data.codecs.columns import describe_columns

    is_needed = any(spec.must_be_given for spec in describe_columns(predictor.task, predictor.profile))
    return "error" if is_needed else "default"


def needed_columns(predictor: "Predictor") -> list[str]:
    """Name the columns of which every training row had a value."""
    from burnish.data.codecs.columns import describe_columns

    return [spec.name for spec in describe_columns(predictor.task, predictor.profile) if spec.always_given]


def find_missing(
    predictor: "Predictor", rows: Rows, *, allow_missing: bool, are_columns_noted: bool = True
) -> list[str]:
    """Refuse rows that lack what every training row had, or give a note of each such column where that is allowed.

    Without `are_columns_noted`, columns that are not there at all are left to the notes of the encoder.
    """
    from burnish.artifact.missing import count_missing, note_missing, refuse_missing
    from burnish.data.codecs.columns import describe_columns

    specs = describe_columns(predictor.task, predictor.profile)
    counts = count_missing(rows.table, specs)
    there = rows.table.column_names
    if not allow_missing:
        refuse_missing(counts, num_rows=len(rows), given=there, columns=predictor.input_columns)
    if not are_columns_noted:
        counts = {name: count for name, count in counts.items() if name in there}
    return note_missing(counts, specs, num_rows=len(rows))


def predict_rows(
    predictor: "Predictor", rows: Rows, *, progress: Callable[[int, int], None] = lambda done, total: None
) -> Outcome:
    """Predict rows that were read, from the model's own columns alone: labels, if any, may be of another model."""
    there = [name for name in predictor.input_columns if name in rows.table.column_names]
    return predictor.outcome(rows.table.select(there), held=rows.held, progress=progress)


def predict_payload(
    target: str,
    payload: bytes,
    *,
    format: str,
    bad_rows: "BadRows" = "error",
    out: Path | None = None,
    task: str | None = None,
    trust_code: bool = False,
    engine: EngineChoice = "torch",
    allow_missing: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> "Answered":
    """Answer rows in a serving format as a server would; with `out`, also write the answer there."""
    from burnish.artifact.answering import answer
    from burnish.artifact.predictor import Predictor
    from burnish.data.codecs.decoded import Limits

    if read_address(out) is not None and out is not None:
        options: dict[str, Any] = {"task": task, "trust_code": trust_code, "engine": engine, "progress": progress}
        options["allow_missing"] = allow_missing
        with writing_at(out) as path:
            return predict_payload(target, payload, format=format, bad_rows=bad_rows, out=path, **options)
    if out is not None:
        _refuse_place(out)
    predictor = Predictor.load(find_artifact(target), task=task, trust_code=trust_code, engine=engine)
    limits = Limits(payload_bytes=MAX_PAYLOAD_BYTES, rows=MAX_PAYLOAD_BYTES)
    how: dict[str, Any] = {"bad_rows": bad_rows, "allow_missing": allow_missing}
    answered = answer(predictor, payload, format=format, **how, limits=limits, progress=progress)
    if out is not None:
        for name, body in {**answered.beside, out.name: answered.body}.items():
            with writing_to(out.with_name(name)):
                write_durably(out.with_name(name), body)
    return answered


def read_payload(source: str) -> bytes:
    """Read a file of rows as it stands, up to the largest payload and a byte, so that more is noticed."""
    address = read_address(source)
    if address is not None:
        return keep_trying(Folder(address).read)
    try:
        with Path(source).open("rb") as stream:
            return stream.read(MAX_PAYLOAD_BYTES + 1)
    except OSError as error:
        raise DataError(f"{source} could not be read: {error.strerror or error}") from error


def _refuse_place(out: Path, suffixes: Sequence[str] = ()) -> None:
    """Refuse a place that cannot be written before any work is done for it."""
    if suffixes and out.suffix not in suffixes:
        raise DataError(f"{out} must end in one of {', '.join(suffixes)}, which says how to write it")
    if out.is_dir():
        raise DataError(f"{out} could not be written: it is a folder")
    with writing_to(out), TemporaryFile(dir=out.parent):  # what may be written is known only by writing
        pass


def _refuse_wrong_number(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, target: str) -> None:
    if len(columns) == 1 and any("pair" in row and "pair" not in columns for row in rows):
        raise DataError(f"{target} takes single texts, but a pair was given; leave out the second text")
    if len(columns) > 1 and any("text" in row and not {"pair", columns[1]} & set(row) for row in rows):
        raise DataError(
            f"{target} takes pairs of texts, but one text was given alone; give its second text with --pair"
        )


def _rename(row: Mapping[str, Any], columns: Sequence[str]) -> Mapping[str, Any]:
    if set(columns) <= set(row):
        return row
    own = dict(zip(("text", "pair"), columns, strict=False))
    return {own.get(name, name): value for name, value in row.items()}


def _append_predictions(table: "pa.Table", outcome: "Outcome") -> "pa.Table":
    from burnish.artifact.tables import prediction_columns
    from burnish.data.codecs.answers import free_name

    for name, column in prediction_columns(outcome).items():
        table = table.append_column(free_name(name, table), column)
    return table
