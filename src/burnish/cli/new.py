"""`burnish new`: a starter experiment from a data file."""

import shlex
from pathlib import Path
from typing import Annotated

import typer


def new(
    data: Annotated[str, typer.Argument(metavar="FILE", help="A data file: CSV, TSV, JSON lines, Parquet …")],
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where to write; default: the data file's name with .yaml."),
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="COLUMN", help="The text column, if the guess is wrong.")
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", "--target", metavar="COLUMN", help="The column to predict, if the guess is wrong."),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option("--encoding", metavar="NAME", help="The encoding of the file, if the guess is wrong.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Inspect a data file and write a commented experiment for it."""
    from burnish.commands.new import new as command

    written = command(data, out=out, text=text, label=label, encoding=encoding, force=force)
    for note in written.notes:
        print(f"note: {note}")
    print(f"wrote {written.path}; look through it, then\n  burnish train {shlex.quote(str(written.path))}")
