"""`burnish list`: what can be named, with one line each."""

from itertools import groupby
from typing import Annotated

import typer

from burnish.cli.documents import print_document
from burnish.cli.options import Json
from burnish.cli.tables import TextTable, show


def list_(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="experiments, tasks, data, models, truncations, optimizers, schedules, metrics, trackers; or all.",
        ),
    ] = None,
    *,
    is_json: Json = False,
) -> None:
    """List experiments and components, and who provides them."""
    from burnish.commands.list import listing

    items = listing(None if kind == "all" else kind)
    if is_json:
        print_document(items)
        return
    for index, (each, group) in enumerate(groupby(items, key=lambda item: item.kind)):
        if index:
            print()
        rows = tuple((_named(item.name, item.aliases), item.provider, item.summary) for item in group)
        show(TextTable((each, "provided by", "what it is"), rows))


def _named(name: str, aliases: tuple[str, ...]) -> str:
    return f"{name} ({', '.join(aliases)})" if aliases else name
