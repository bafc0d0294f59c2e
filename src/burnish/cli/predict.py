"""`burnish predict`: rows from texts, a file or standard input; answers to the terminal, a file or a pipe."""

import glob
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from burnish.cli.console import counting, waiting
from burnish.cli.figures import figure
from burnish.cli.options import (
    Json,
    OfSeveral,
    Target,
    TrustCode,
    UsedEngine,
    argument,
    choose_source,
    find_target,
    option,
)
from burnish.cli.tables import TextTable, shorten
from burnish.cli.verb import Reply, verb
from burnish.cli.wrapping import say
from burnish.data.codecs.columns import FORMAT_NAMES
from burnish.storage.address import read_address

if TYPE_CHECKING:
    from burnish.artifact.answering import BadRows
    from burnish.artifact.predictor import Prediction
    from burnish.commands.predict import PredictedFile

_ROW_CHARACTERS = 400
_ROWS_SHOWN = 5
_OWN_SHOWN, _ANSWERS_SHOWN = 3, 3
_CELL_CHARACTERS = 40
_STANDARD = "-"


@verb("predict", addresses=("out",), leaves={"--out": "outputs/predictions.csv"})
def predict(
    target: Target,
    file: Annotated[str | None, argument("FILE", "A file of rows to predict; same as --in.")] = None,
    *,
    texts: Annotated[list[str] | None, option("--text TEXT", "A text to predict; repeatable.")] = None,
    pairs: Annotated[list[str] | None, option("--pair TEXT", "The second text of each --text, in order.")] = None,
    rows: Annotated[
        list[str] | None, option("--row JSON", "A row of several columns, like '{\"fare\": 12.5}'; repeatable.")
    ] = None,
    source: Annotated[str | None, option("--in FILE", "A file of rows to predict; - is standard input.")] = None,
    out: Annotated[
        Path | None, option("--out FILE", "Where they go (.csv, .parquet …); default: a pipe, or next to FILE.")
    ] = None,
    format: Annotated[
        str | None,
        option(
            "--format NAME",
            f"Read --in in this format and reply in it: {', '.join(FORMAT_NAMES)}, glue, or module:Class.",
        ),
    ] = None,
    bad_rows: Annotated[
        Literal["error", "skip"], option("--bad-rows", "With --format: what to do about bad rows.")
    ] = "error",
    allow_missing: Annotated[
        bool, option("--allow-missing", "Predict rows that lack what every training row had.")
    ] = False,
    task: OfSeveral = None,
    engine: UsedEngine = "torch",
    trust_code: TrustCode = False,
    is_json: Json = False,
) -> Reply | None:
    """Predict for texts, rows or a file, preprocessed as in training."""
    source = choose_source(file, source)
    if file is not None and " " in file.strip() and not Path(file).suffix:
        raise typer.BadParameter(f"'{shorten(file)}' looks like a text, and a file goes there; give texts with --text")
    if (texts or rows) and (format or source):
        raise typer.BadParameter("predict takes rows from one place: a file, --text or --row")
    loading = {"task": task, "trust_code": trust_code, "engine": engine}
    if format == "glue":
        return _Model(find_target(target), loading, is_json=is_json).predict_glue(source, out)
    model = _Model(find_target(target), {**loading, "allow_missing": allow_missing}, is_json=is_json)
    if format is not None:
        return model.predict_payload(source, out, format=format, bad_rows=bad_rows)
    if bad_rows != "error":
        raise typer.BadParameter("--bad-rows goes with --format; without it, every row of --in must be good")
    if source == _STANDARD:
        raise typer.BadParameter(f"- needs --format, which says how the rows are written: {', '.join(FORMAT_NAMES)}")
    if source is not None:
        return model.predict_file(source, out)
    if out is not None:
        raise typer.BadParameter(
            "--out is for the predictions of a file; name it too: burnish predict RUN FILE --out …"
        )
    return model.predict_rows(parse_rows(rows) if rows and not texts else _pair_texts(texts or [], pairs or []), target)


@dataclass(frozen=True)
class _Model:
    """What is asked, and how it is loaded."""

    target: str
    loading: dict[str, Any]
    is_json: bool

    def predict_rows(self, rows: list[dict[str, Any]], target: str) -> Reply:
        from burnish.commands.predict import predict as command

        notes: list[str] = []
        with waiting(f"loading {target}"):
            found = command(self.target, rows, **self.loading, tell=notes.append)
        cells = tuple((_write_row(row), *_write_answer(each)) for row, each in zip(rows, found, strict=True))
        columns = ("text" if "text" in rows[0] else "row", "predicted", "confidence")
        records = [each.record() for each in found]
        table = TextTable(columns, cells, right=("confidence",))
        return Reply({"target": target, "predictions": records}, [table], notes=notes)

    def predict_file(self, source: str, out: Path | None) -> Reply | None:
        """Put a file's predictions where they are asked for.

        Without `out`, a pipe gets all of them as CSV, as with `-`; on a terminal they go next to the file, and the
        first ones are shown.
        """
        from burnish.commands.predict import predict_file as command

        is_shown = out is None and not self.is_json and sys.stdout.isatty()
        place = _choose_place(source) if is_shown else None if str(out) == _STANDARD else out
        with counting("predicting", is_silent=self.is_json) as progress:
            found = command(self.target, source=source, out=place, **self.loading, progress=progress)
        if place is None and not self.is_json:
            from burnish.artifact.tables import write_csv

            write_csv(found.table, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return Reply(notes=found.notes)
        shown = read_address(place) or place
        answers = {"predictions": found.table.to_pylist()} if place is None else {"out": shown}
        document = {"target": self.target, "rows": found.table.num_rows, **answers}
        preview = [_preview(found)] if is_shown else []
        return Reply(document, [*preview, f"{found.table.num_rows:,} predictions in {shown}"], notes=found.notes)

    def predict_payload(
        self, source: str | None, out: Path | None, *, format: str, bad_rows: "BadRows"
    ) -> Reply | None:
        """Answer rows in a serving format."""
        from burnish.commands.predict import MAX_PAYLOAD_BYTES, read_payload
        from burnish.commands.predict import predict_payload as command
        from burnish.data.codecs.formats import find_codec

        find_codec(format)  # an unknown one is refused before rows are waited for and a model is loaded
        place = None if out is None or str(out) == _STANDARD else out
        if self.is_json and place is None:
            raise typer.BadParameter("--json prints to standard output, where the predictions go; give --out FILE too")
        is_piped = source is None or source == _STANDARD
        payload = sys.stdin.buffer.read(MAX_PAYLOAD_BYTES + 1) if is_piped else read_payload(source or "")
        with counting("predicting", is_silent=place is None or self.is_json) as progress:
            options = {"format": format, "bad_rows": bad_rows, "out": place, **self.loading}
            answered = command(self.target, payload, **options, progress=progress)
        if answered.unused:
            say(f"ignored, because the model has no such column: {', '.join(answered.unused)}")
        for note in answered.notes:
            say(note)
        for error in answered.errors:
            say(f"skipped {error}")
        if place is None:
            sys.stdout.buffer.write(answered.body)
            sys.stdout.buffer.flush()
            return None
        document = {"target": self.target, "rows": answered.num_rows, "out": place, "errors": answered.errors}
        return Reply(document, [f"{answered.num_rows:,} predictions in {read_address(place) or place}"])

    def predict_glue(self, source: str | None, out: Path | None) -> Reply:
        """Predict the published test files."""
        from burnish.commands.glue import predict_glue as command

        if source is None or out is None:
            raise typer.BadParameter(
                "--format glue reads the test files in --in DIR and writes to --out DIR; give both"
            )
        with counting("predicting", is_silent=self.is_json) as progress:
            written = command(self.target, source=source, out=out, **self.loading, progress=progress)
        rows = tuple((each.name, f"{each.num_rows:,}", str(each.path)) for each in written)
        table = TextTable(("set", "rows", "file"), rows, right=("rows",))
        return Reply({"target": self.target, "submissions": written}, [table])


def parse_rows(rows: Sequence[str]) -> list[dict[str, Any]]:
    """Read rows that were given as JSON objects."""
    from burnish.data.readers.read_json import distinct_keys, parse_json

    try:
        objects = [parse_json(row, pairs=distinct_keys) for row in rows]
    except ValueError as error:
        raise typer.BadParameter(f"--row must be a JSON object: {error}") from error
    if not all(isinstance(each, dict) for each in objects):
        raise typer.BadParameter("--row must be a JSON object from column to value, like '{\"fare\": 12.5}'")
    return objects


def _pair_texts(texts: Sequence[str], pairs: Sequence[str]) -> list[dict[str, Any]]:
    if not texts:
        raise typer.BadParameter('predict needs a text, a row or a file: --text "…", --row JSON, or FILE')
    if not pairs:
        return [{"text": text} for text in texts]
    if len(pairs) != len(texts):
        raise typer.BadParameter(
            f"--pair is given {len(pairs)} times and --text {len(texts)}; each text needs one pair"
        )
    return [{"text": text, "pair": pair} for text, pair in zip(texts, pairs, strict=True)]


def _write_row(row: Mapping[str, Any]) -> str:
    if "text" in row:
        return shorten(" | ".join(map(str, row.values())))
    # One by one, so that the last of several choices is still in sight.
    return shorten(", ".join(f"{name}={_write_value(value)}" for name, value in row.items()), most=_ROW_CHARACTERS)


def _write_value(value: object) -> str:
    return " | ".join(map(_write_value, value)) if isinstance(value, list) else shorten(str(value))


def _write_answer(prediction: "Prediction") -> tuple[str, str]:
    """Write what was predicted, and how sure the model is."""
    if prediction.answer is not None:
        confidence = prediction.answer.get("confidence")
        return str(prediction.answer["predicted"]), "" if confidence is None else figure(confidence)
    labels, probabilities = prediction.predicted, prediction.probabilities
    if isinstance(labels, float):
        return figure(labels), ""
    names = prediction.predicted_name or labels
    if isinstance(labels, str):
        return str(names), "" if prediction.confidence is None else figure(prediction.confidence)
    if labels or not probabilities:
        sure = (figure(probabilities[label]) for label in labels if label in probabilities)
        return ", ".join(names) or "(none)", ", ".join(sure)
    best = max(probabilities, key=lambda each: probabilities[each])
    return "(none)", f"{best} only {figure(probabilities[best])}"


def _choose_place(source: str) -> Path:
    """Put the predictions of a file next to it, or here if it is in none of this machine's folders."""
    is_local = "://" not in source and not source.startswith("package:") and not glob.has_magic(source)
    path = Path(source).expanduser() if is_local else Path(source.rpartition("/")[2].partition("?")[0])
    stem = path.name.partition(".")[0] if not glob.has_magic(path.name) else ""
    return path.with_name(f"{stem}.predictions.csv" if stem else "predictions.csv")


def _preview(found: "PredictedFile") -> TextTable:
    own = [name for name in found.table.column_names if name not in found.answers][:_OWN_SHOWN]
    head = found.table.slice(0, _ROWS_SHOWN)
    names = [*own, *found.answers[:_ANSWERS_SHOWN]]
    names = [name for name in names if not isinstance(head[name][0].as_py(), dict | list)] if len(head) else names
    rows = zip(*([_write_cell(cell) for cell in head[name].to_pylist()] for name in names), strict=True)
    return TextTable(tuple(names), tuple(rows))


def _write_cell(cell: object) -> str:
    if cell is None:
        return ""
    return figure(cell) if isinstance(cell, float) else shorten(str(cell), most=_CELL_CHARACTERS)
