"""`burnish prepare`: files made ready for training."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from burnish.cli.documents import print_document
from burnish.cli.options import Json, print_help
from burnish.cli.tables import Table, show

if TYPE_CHECKING:
    from burnish.commands.split import Divided

_SHOWN_CLASSES = 20

app = typer.Typer(
    callback=print_help,
    invoke_without_command=True,
    rich_markup_mode=None,
    help="Make files ready for training.",
)


@app.command("split")
def split(
    source: Annotated[str, typer.Argument(metavar="FILE", help="CSV, TSV, JSON lines, Parquet or Arrow.")],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder that the new files go to.")],
    dev: Annotated[
        str, typer.Option("--dev", metavar="PORTION", help="What dev gets: a share like 10%, or a number of rows.")
    ] = "10%",
    test: Annotated[str | None, typer.Option("--test", metavar="PORTION", help="What test gets, if any.")] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", metavar="COLUMN", help="Keep its classes in proportion, if the guess is wrong."),
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option("--group", metavar="COLUMN", help="Rows that agree in it stay together; repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Another seed, another choice.")] = 0,
    is_json: Json = False,
) -> None:
    """Divide one file into train, dev and test files of the same format."""
    from burnish.commands.split import split as command

    divided = command(source, out=out, dev=dev, test=test, label=label, group=group or (), seed=seed)
    if is_json:
        print_document(divided)
        return
    show(_table(divided))
    print(f"dev is {divided.how}")
    print(f"wrote {', '.join(map(str, divided.files.values()))}; for an experiment on them")
    print(f"  burnish new {shlex.quote(str(divided.files['train']))}")


def _table(divided: "Divided") -> Table:
    names = tuple(divided.files)
    rows = [(each, *(f"{counted[name]:,}" for name in names)) for each, counted in divided.counts.items()]
    if len(rows) > _SHOWN_CLASSES:
        rest = tuple("" for _ in names)
        rows = [*rows[:_SHOWN_CLASSES], (f"… {len(rows) - _SHOWN_CLASSES:,} more", *rest)]
    if divided.label is not None:
        totals = tuple(f"{sum(counted[name] for counted in divided.counts.values()):,}" for name in names)
        rows.append(("all", *totals))
    return Table((divided.label or "", *names), tuple(rows), right=names)
