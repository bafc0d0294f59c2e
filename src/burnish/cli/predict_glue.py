"""`burnish predict --format glue`: files to hand in to GLUE."""

from pathlib import Path

import typer

from burnish.cli.counter import counting
from burnish.cli.documents import print_document
from burnish.cli.tables import TextTable, show


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
