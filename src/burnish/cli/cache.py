"""`burnish cache`: what is kept of data, why an experiment misses it, and making room."""

from typing import TYPE_CHECKING, Annotated

import typer

from burnish.cli.documents import print_document
from burnish.cli.figures import moment
from burnish.cli.options import Configs, Experiment, Json, Overrides, print_help
from burnish.cli.tables import TextTable, show

if TYPE_CHECKING:
    from burnish.commands.cache import Lookup

app = typer.Typer(
    callback=print_help,
    invoke_without_command=True,
    rich_markup_mode=None,
    help="Inspect the cache of encoded data, and free space.",
)
_SHOWN_DIGITS = 12


@app.command("ls")
def ls(*, is_json: Json = False) -> None:
    """List cached tables, most recently used first."""
    from burnish.commands.cache import ls as command
    from burnish.data.cache.sizes import written_size

    listing = command()
    if is_json:
        print_document(listing)
        return
    rows = tuple(
        (entry.digest[:_SHOWN_DIGITS], entry.what, written_size(entry.num_bytes), moment(entry.last_used))
        for entry in listing.entries
    )
    if rows:
        show(TextTable(("entry", "what", "size", "last used"), rows, right=("size",)))
    print(f"{written_size(listing.num_bytes)} of {written_size(listing.max_bytes)} in {listing.root}")


@app.command("why-miss", short_help="Explain why a split must be encoded again.")
def why_miss(
    experiment: Experiment, overrides: Overrides = None, *, configs: Configs = None, is_json: Json = False
) -> None:
    """Show for each split whether it is cached, and if not, how it differs from the closest entry."""
    from burnish.commands.cache import why_miss as command

    found = command(experiment, configs=configs or (), overrides=overrides or ())
    if is_json:
        print_document(found)
    else:
        for lookup in found:
            print(_told(lookup))


@app.command("prune")
def prune(
    *,
    max_size: Annotated[
        str | None,
        typer.Option("--max", metavar="SIZE", help="How much to keep, like 5GB or 0; default: the cache's limit."),
    ] = None,
    is_json: Json = False,
) -> None:
    """Remove the least recently used entries; those in use stay."""
    from burnish.commands.cache import prune as command
    from burnish.data.cache.sizes import written_size

    removed = command(max_size=max_size)
    if is_json:
        print_document(removed)
        return
    entries = "1 entry" if len(removed) == 1 else f"{len(removed):,} entries"
    print(f"removed {entries}, {written_size(sum(entry.num_bytes for entry in removed))}")


@app.command("verify", short_help="Read everything and remove damaged entries.")
def verify(*, is_json: Json = False) -> None:
    """Read every cached byte and remove entries that were damaged since they were written."""
    from burnish.commands.cache import verify as command
    from burnish.data.cache.sizes import written_size

    removed = command()
    if is_json:
        print_document(removed)
    for entry in () if is_json else removed:
        print(f"{entry.digest[:_SHOWN_DIGITS]}  {entry.what}, {written_size(entry.num_bytes)}: damaged, removed")
    if not is_json and not removed:
        print("all entries are intact")


def _told(lookup: "Lookup") -> str:
    if lookup.is_cached:
        return f"{lookup.split}: cached"
    if lookup.nearest is None:
        return f"{lookup.split}: not cached; the cache is empty"
    differences = "".join(f"\n  {reason}" for reason in lookup.reasons)
    return f"{lookup.split}: not cached; the nearest entry, {lookup.nearest[:_SHOWN_DIGITS]}, differs:{differences}"
