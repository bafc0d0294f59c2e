"""`burnish predict`: ask a run or an artifact about texts, or about a file of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from burnish.cli.counter import counting
from burnish.cli.documents import print_document
from burnish.cli.figures import figure
from burnish.cli.options import Json, Target, resolved
from burnish.cli.predict_payload import predict_payload
from burnish.cli.tables import Table, show
from burnish.data.codecs.names import FORMAT_NAMES, FormatName

if TYPE_CHECKING:
    from burnish.artifact.predictor import Prediction

_SHOWN_CHARACTERS = 60


def predict(
    target: Target,
    *,
    texts: Annotated[
        list[str] | None, typer.Option("--text", metavar="TEXT", help="A text to predict for; repeatable.")
    ] = None,
    pairs: Annotated[
        list[str] | None, typer.Option("--pair", metavar="TEXT", help="The second text of each --text, in order.")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--in", metavar="FILE", help="A file of rows to predict for; - is standard input.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Where predictions go (.parquet, .csv …); - is standard output."),
    ] = None,
    format: Annotated[
        FormatName | None,
        typer.Option("--format", help="Read --in in this serving format, and answer in the one that goes with it."),
    ] = None,
    bad_rows: Annotated[
        Literal["error", "skip"],
        typer.Option("--bad-rows", help="With --format: refuse all, or skip bad rows."),
    ] = "error",
    is_json: Json = False,
) -> None:
    """Predict with the same preparation of texts as in training."""
    if format is not None:
        _refuse_texts(texts)
        predict_payload(resolved(target), source=source, out=out, format=format, bad_rows=bad_rows, is_json=is_json)
        return
    _refuse_format_options(source, out, bad_rows)
    if (source is None) != (out is None):
        raise typer.BadParameter("--in and --out go together: rows come from --in, predictions go to --out")
    if source is not None and out is not None:
        _refuse_texts(texts)
        _predict_file(resolved(target), source=source, out=out, is_json=is_json)
        return
    _predict_texts(target, _rows(texts or [], pairs or []), is_json=is_json)


def _refuse_texts(texts: Sequence[str] | None) -> None:
    if texts:
        raise typer.BadParameter("predict takes texts from one place: give --text or --in, not both")


def _refuse_format_options(source: str | None, out: Path | None, bad_rows: str) -> None:
    if bad_rows != "error":
        raise typer.BadParameter("--bad-rows goes with --format; without it, every row of --in must be good")
    if "-" in (source, str(out)):
        raise typer.BadParameter(f"- needs --format, which says how the rows are written: {', '.join(FORMAT_NAMES)}")


def _rows(texts: Sequence[str], pairs: Sequence[str]) -> list[dict[str, str]]:
    if not texts:
        raise typer.BadParameter('predict needs a text or a file: --text "…", or --in FILE --out FILE')
    if not pairs:
        return [{"text": text} for text in texts]
    if len(pairs) != len(texts):
        raise typer.BadParameter(
            f"--pair is given {len(pairs)} times and --text {len(texts)}; each text needs one pair"
        )
    return [{"text": text, "pair": pair} for text, pair in zip(texts, pairs, strict=True)]


def _predict_texts(target: str, rows: list[dict[str, str]], *, is_json: bool) -> None:
    from burnish.commands.predict import predict as command

    predictions = command(resolved(target), rows)
    if is_json:
        print_document({"target": target, "predictions": predictions})
        return
    cells = tuple(
        (_shortened(" | ".join(row.values())), *_answer(each)) for row, each in zip(rows, predictions, strict=True)
    )
    show(Table(("text", "prediction", "confidence"), cells, right=("confidence",)))


def _predict_file(target: str, *, source: str, out: Path, is_json: bool) -> None:
    from burnish.commands.predict import predict_file

    with counting("predicting", is_silent=is_json) as progress:
        count = predict_file(resolved(target), source=source, out=out, progress=progress)
    if is_json:
        print_document({"target": target, "rows": count, "out": out})
    else:
        print(f"{count:,} predictions in {out}")


def _answer(prediction: "Prediction") -> tuple[str, str]:
    if prediction.label is None:
        return ("-" if prediction.value is None else figure(prediction.value)), ""
    label = prediction.label if isinstance(prediction.label, str) else ", ".join(prediction.label) or "(none)"
    return label, "" if prediction.confidence is None else figure(prediction.confidence)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else line[: _SHOWN_CHARACTERS - 1] + "…"
