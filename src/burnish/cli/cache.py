"""`burnish cache`: what is kept of data, why an experiment misses it, and making room."""

from typing import TYPE_CHECKING, Annotated

from burnish.cli.figures import moment
from burnish.cli.options import Asked, option
from burnish.cli.tables import TextTable
from burnish.cli.verb import Lines, Reply, group, verb

if TYPE_CHECKING:
    from burnish.commands.cache import CachedTable, CacheListing, Lookup

_SHOWN_DIGITS = 12


@verb("ls")
def ls() -> Reply:
    """List cached tables, most recently used first."""
    from burnish.commands.cache import ls as command

    listing = command()
    return Reply(listing, _list(listing))


@verb("why-miss", short_help="Explain why a split must be encoded again.")
def why_miss(asked: Asked) -> Reply:
    """Show for each split whether it is cached, and if not, how it differs from the closest entry."""
    from burnish.commands.cache import why_miss as command

    found = command(asked.experiment, **asked.layers)
    return Reply(found, map(_explain, found))


@verb("prune")
def prune(
    *,
    max_size: Annotated[
        str | None, option("--max SIZE", "How much to keep, like 5GB or 0; default: the cache's limit.")
    ] = None,
) -> Reply:
    """Remove the least recently used entries; those in use stay."""
    from burnish.commands.cache import prune as command
    from burnish.data.cache.sizes import write_size

    removed = command(max_size=max_size)
    entries = "1 entry" if len(removed) == 1 else f"{len(removed):,} entries"
    return Reply(removed, [f"removed {entries}, {write_size(sum(entry.num_bytes for entry in removed))}"])


@verb("verify", short_help="Read everything and remove damaged entries.")
def verify() -> Reply:
    """Read every cached byte and remove entries that were damaged since they were written."""
    from burnish.commands.cache import verify as command

    removed = command()
    return Reply(removed, map(_report_damage, removed) if removed else ["all entries are intact"])


app = group("cache", "Inspect the cache of encoded data, and free space.", ls, why_miss, prune, verify)


def _list(listing: "CacheListing") -> Lines:
    from burnish.data.cache.sizes import write_size

    rows = tuple(
        (entry.digest[:_SHOWN_DIGITS], entry.what, write_size(entry.num_bytes), moment(entry.last_used))
        for entry in listing.entries
    )
    if rows:
        yield TextTable(("entry", "what", "size", "last used"), rows, right=("size",))
    yield f"{write_size(listing.num_bytes)} of {write_size(listing.max_bytes)} in {listing.root}"


def _explain(lookup: "Lookup") -> str:
    if lookup.is_cached:
        return f"{lookup.split}: cached"
    if lookup.nearest is None:
        return f"{lookup.split}: not cached; the cache is empty"
    differences = "".join(f"\n  {reason}" for reason in lookup.reasons)
    return f"{lookup.split}: not cached; the nearest entry, {lookup.nearest[:_SHOWN_DIGITS]}, differs:{differences}"


def _report_damage(entry: "CachedTable") -> str:
    from burnish.data.cache.sizes import write_size

    return f"{entry.digest[:_SHOWN_DIGITS]}  {entry.what}, {write_size(entry.num_bytes)}: damaged, removed"
