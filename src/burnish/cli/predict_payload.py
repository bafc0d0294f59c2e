"""`burnish predict --format`: rows from a file or standard input, answers to a file or standard output."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from burnish.cli.counter import counting
from burnish.cli.documents import print_document
from burnish.data.codecs.names import FormatName

if TYPE_CHECKING:
    from burnish.artifact.answering import Answered, BadRows

_STANDARD = "-"


def predict_payload(
    target: str,
    *,
    source: str | None,
    out: Path | None,
    format: FormatName,
    bad_rows: "BadRows",
    task: str | None,
    trust_code: bool,
    is_json: bool,
) -> None:
    """Predict the rows of a payload and put the answers where they are asked for."""
    from burnish.commands.predict import predict_payload as command

    place = None if out is None or str(out) == _STANDARD else out
    if is_json and place is None:
        raise typer.BadParameter("--json prints to standard output, where the predictions go; give --out FILE too")
    payload = _payload(source)
    with counting("predicting", is_silent=place is None or is_json) as progress:
        answered = command(
            target,
            payload,
            format=format,
            bad_rows=bad_rows,
            out=place,
            task=task,
            trust_code=trust_code,
            progress=progress,
        )
    _tell(answered)
    if place is None:
        sys.stdout.buffer.write(answered.body)
        sys.stdout.buffer.flush()
    elif is_json:
        print_document({"target": target, "rows": answered.num_rows, "out": place, "errors": answered.errors})
    else:
        print(f"{answered.num_rows:,} predictions in {place}")


def _payload(source: str | None) -> bytes:
    from burnish.commands.predict import MAX_PAYLOAD_BYTES, read_payload

    if source is None or source == _STANDARD:
        return sys.stdin.buffer.read(MAX_PAYLOAD_BYTES + 1)
    return read_payload(source)


def _tell(answered: "Answered") -> None:
    if answered.unused:
        print(f"ignored, because the model has no such column: {', '.join(answered.unused)}", file=sys.stderr)
    for error in answered.errors:
        print(f"skipped {error}", file=sys.stderr)
