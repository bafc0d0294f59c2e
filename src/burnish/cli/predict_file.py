"""`burnish predict RUN FILE`: a file's rows with their predictions, in a file, on the terminal or down a pipe."""

import glob
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.cli.counter import counting
from burnish.cli.documents import print_document
from burnish.cli.figures import figure
from burnish.cli.tables import TextTable, shortened, show

if TYPE_CHECKING:
    from burnish.commands.predict import PredictedFile

_ROWS_SHOWN = 5
_OWN_SHOWN, _ANSWERS_SHOWN = 3, 3
_CELL_CHARACTERS = 40


def predict_file(
    target: str, *, source: str, out: Path | None, task: str | None, trust_code: bool, is_json: bool
) -> None:
    """Predict the rows of a file and put them where they are asked for.

    Without `out`, a pipe gets all of them as CSV, as with `-`; on a terminal they go next to the file, and the first
    ones are shown.
    """
    from burnish.commands.predict import predict_file as command

    is_shown = out is None and not is_json and sys.stdout.isatty()
    place = _next_to(source) if is_shown else None if str(out) == "-" else out
    with counting("predicting", is_silent=is_json) as progress:
        found = command(target, source=source, out=place, task=task, trust_code=trust_code, progress=progress)
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    if is_json:
        told = {"predictions": found.table.to_pylist()} if place is None else {"out": place}
        print_document({"target": target, "rows": found.table.num_rows, **told})
    elif place is None:
        _pour(found)
    else:
        if is_shown:
            show(_preview(found))
        print(f"{found.table.num_rows:,} predictions in {place}")


def _next_to(source: str) -> Path:
    """Give the place for the predictions of a file: next to it, or here if it is none of this machine's folders."""
    is_local = "://" not in source and not source.startswith("package:") and not glob.has_magic(source)
    path = Path(source).expanduser() if is_local else Path(source.rpartition("/")[2].partition("?")[0])
    stem = path.name.partition(".")[0] if not glob.has_magic(path.name) else ""
    return path.with_name(f"{stem}.predictions.csv" if stem else "predictions.csv")


def _pour(found: "PredictedFile") -> None:
    from burnish.artifact.tables import write_csv

    write_csv(found.table, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _preview(found: "PredictedFile") -> TextTable:
    own = [name for name in found.table.column_names if name not in found.answers][:_OWN_SHOWN]
    head = found.table.slice(0, _ROWS_SHOWN)
    names = [*own, *found.answers[:_ANSWERS_SHOWN]]
    names = [name for name in names if not isinstance(head[name][0].as_py(), dict | list)] if len(head) else names
    rows = zip(*([_written(cell) for cell in head[name].to_pylist()] for name in names), strict=True)
    return TextTable(tuple(names), tuple(rows))


def _written(cell: object) -> str:
    if cell is None:
        return ""
    return figure(cell) if isinstance(cell, float) else shortened(str(cell), most=_CELL_CHARACTERS)
