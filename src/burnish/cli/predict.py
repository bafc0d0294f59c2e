"""`burnish predict`: ask a run or an artifact about texts, or about a file of them."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from burnish.cli.counter import counting, waiting
from burnish.cli.documents import print_document
from burnish.cli.figures import figure
from burnish.cli.options import Json, OfSeveral, Target, TrustCode, one_source, resolved
from burnish.cli.predict_file import predict_file
from burnish.cli.predict_payload import predict_payload
from burnish.cli.tables import TextTable, shortened, show
from burnish.data.codecs.names import FORMAT_NAMES, FormatName

if TYPE_CHECKING:
    from burnish.artifact.predictor import Prediction

_ROW_CHARACTERS = 400


def predict(
    target: Target,
    file: Annotated[str | None, typer.Argument(metavar="FILE", help="A file of rows to predict; same as --in.")] = None,
    *,
    texts: Annotated[
        list[str] | None, typer.Option("--text", metavar="TEXT", help="A text to predict; repeatable.")
    ] = None,
    pairs: Annotated[
        list[str] | None, typer.Option("--pair", metavar="TEXT", help="The second text of each --text, in order.")
    ] = None,
    rows: Annotated[
        list[str] | None,
        typer.Option("--row", metavar="JSON", help="A row of several columns, like '{\"fare\": 12.5}'; repeatable."),
    ] = None,
    source: Annotated[
        str | None, typer.Option("--in", metavar="FILE", help="A file of rows to predict; - is standard input.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="FILE", help="Where they go (.csv, .parquet …); default: a pipe, or next to FILE."
        ),
    ] = None,
    format: Annotated[
        Literal[FormatName, "glue"] | None,
        typer.Option("--format", help="Read --in in this serving format and reply in it; glue: GLUE's test files."),
    ] = None,
    bad_rows: Annotated[
        Literal["error", "skip"],
        typer.Option("--bad-rows", help="With --format: what to do about bad rows."),
    ] = "error",
    task: OfSeveral = None,
    trust_code: TrustCode = False,
    is_json: Json = False,
) -> None:
    """Predict for texts, rows or a file, preprocessed as in training."""
    given = [*(texts or ()), *(rows or ())]
    source = one_source(file, source)
    if file is not None and " " in file.strip() and not Path(file).suffix:
        raise typer.BadParameter(
            f"'{shortened(file)}' looks like a text, and a file goes there; give texts with --text"
        )
    if format is not None:
        _refuse_texts(given)
        ask = predict_glue if format == "glue" else partial(predict_payload, format=format, bad_rows=bad_rows)
        ask(resolved(target), source=source, out=out, task=task, trust_code=trust_code, is_json=is_json)
        return
    _refuse_format_options(source, bad_rows)
    if source is not None:
        _refuse_texts(given)
        predict_file(resolved(target), source=source, out=out, task=task, trust_code=trust_code, is_json=is_json)
        return
    if out is not None:
        raise typer.BadParameter(
            "--out is for the predictions of a file; name it too: burnish predict RUN FILE --out …"
        )
    asked = _objects(rows) if rows and not texts else _rows(texts or [], pairs or [])
    _predict_rows(target, asked, task=task, trust_code=trust_code, is_json=is_json)


def _refuse_texts(given: Sequence[str]) -> None:
    if given:
        raise typer.BadParameter("predict takes rows from one place: a file, --text or --row")


def _refuse_format_options(source: str | None, bad_rows: str) -> None:
    if bad_rows != "error":
        raise typer.BadParameter("--bad-rows goes with --format; without it, every row of --in must be good")
    if source == "-":
        raise typer.BadParameter(f"- needs --format, which says how the rows are written: {', '.join(FORMAT_NAMES)}")


def _objects(rows: Sequence[str]) -> list[dict[str, Any]]:
    from burnish.data.readers.json_text import distinct_keys, parse_json

    try:
        objects = [parse_json(row, pairs=distinct_keys) for row in rows]
    except ValueError as error:
        raise typer.BadParameter(f"--row must be a JSON object: {error}") from error
    if not all(isinstance(each, dict) for each in objects):
        raise typer.BadParameter("--row must be a JSON object from column to value, like '{\"fare\": 12.5}'")
    return objects


def _rows(texts: Sequence[str], pairs: Sequence[str]) -> list[dict[str, Any]]:
    if not texts:
        raise typer.BadParameter('predict needs a text, a row or a file: --text "…", --row JSON, or FILE')
    if not pairs:
        return [{"text": text} for text in texts]
    if len(pairs) != len(texts):
        raise typer.BadParameter(
            f"--pair is given {len(pairs)} times and --text {len(texts)}; each text needs one pair"
        )
    return [{"text": text, "pair": pair} for text, pair in zip(texts, pairs, strict=True)]


def _predict_rows(
    target: str, rows: list[dict[str, Any]], *, task: str | None, trust_code: bool, is_json: bool
) -> None:
    from burnish.commands.predict import predict as command

    with waiting(f"loading {target}"):
        predictions = command(resolved(target), rows, task=task, trust_code=trust_code)
    if is_json:
        print_document({"target": target, "predictions": predictions})
        return
    cells = tuple((_told(row), *_answer(each)) for row, each in zip(rows, predictions, strict=True))
    show(TextTable(("text" if "text" in rows[0] else "row", "prediction", "confidence"), cells, right=("confidence",)))


def _told(row: Mapping[str, Any]) -> str:
    if "text" in row:
        return shortened(" | ".join(map(str, row.values())))
    # One by one, so that the last of several choices is still in sight.
    cells = [f"{name}={_cell(value)}" for name, value in row.items()]
    return shortened(", ".join(cells), most=_ROW_CHARACTERS)


def _cell(value: object) -> str:
    return " | ".join(map(_cell, value)) if isinstance(value, list) else shortened(str(value))


def _answer(prediction: "Prediction") -> tuple[str, str]:
    if prediction.answer is not None:
        confidence = prediction.answer.get("confidence")
        return str(prediction.answer["predicted"]), "" if confidence is None else figure(confidence)
    if prediction.label is None:
        return ("-" if prediction.value is None else figure(prediction.value)), ""
    if isinstance(prediction.label, str):
        return prediction.label, "" if prediction.confidence is None else figure(prediction.confidence)
    return ", ".join(prediction.label) or "(none)", _of_several(prediction.label, prediction.probabilities)


def _of_several(labels: Sequence[str], probabilities: Mapping[str, float]) -> str:
    """Give the probability of each label that was chosen; if none was, the highest."""
    if labels or not probabilities:
        return ", ".join(figure(probabilities[label]) for label in labels if label in probabilities)
    name = max(probabilities, key=lambda each: probabilities[each])
    return f"{name} only {figure(probabilities[name])}"


def predict_glue(
    target: str, *, source: str | None, out: Path | None, task: str | None, trust_code: bool, is_json: bool
) -> None:
    """Predict the published test files and say what was written."""
    from burnish.commands.glue import predict_glue as command

    if source is None or out is None:
        raise typer.BadParameter("--format glue reads the test files in --in DIR and writes to --out DIR; give both")
    with counting("predicting", is_silent=is_json) as progress:
        written = command(target, source=source, out=out, task=task, trust_code=trust_code, progress=progress)
    if is_json:
        print_document({"target": target, "submissions": written})
    else:
        rows = tuple((each.name, f"{each.num_rows:,}", str(each.path)) for each in written)
        show(TextTable(("set", "rows", "file"), rows, right=("rows",)))
