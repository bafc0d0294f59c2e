"""Writes the pages for people who come from another tool: `python -m bench.coming_from`; a test compares.

The left side is in `coming_from.yaml`; the answers are those of the hints in error messages, `config/foreign.yaml`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from burnish.config.foreign import find_answer
from burnish.config.suggest import every_option
from burnish.registry import default_registry

HERE = Path(__file__).parent
PAGES = HERE.parent / "docs" / "coming-from"
SAME = "the same here"
FOOT = """\
`burnish config check` answers names of other tools in the same way: `python -m bench.coming_from` writes this page from
the table behind the hints of its messages."""


@dataclass(frozen=True)
class Row:
    """An option of another tool, and its answer."""

    theirs: str
    """As it is typed there."""
    ours: tuple[str, ...]
    """As it is typed here; several, if it depends on the task or the command."""
    note: str
    needs: tuple[str, ...]
    """Overrides that the option needs beside it."""


def read_pages() -> list[dict[str, Any]]:
    """Read what the pages hold besides the answers."""
    pages: list[dict[str, Any]] = yaml.safe_load((HERE / "coming_from.yaml").read_text(encoding="utf-8"))
    return pages


def rows_of(page: Mapping[str, Any], group: str) -> Iterator[Row]:
    """Answer each option of a group."""
    known = {option.path for option in every_option(default_registry())}
    for option in page["groups"][group]:
        typed, _, needs = option.partition(" | ")
        name, _, given = typed.partition(" ")
        theirs = f"--{typed}" if group in page["flags"] else f"{name}: {given}".removesuffix(": ")
        entry = find_answer(name, given, tool=page["tool"])
        if entry is None and name in known:
            yield Row(theirs, (name,), SAME, ())
        elif entry is None or page["tool"] not in entry.tools:
            raise KeyError(f"{page['page']}: foreign.yaml has no answer to {name}")
        else:
            written = entry.translate(given or None)
            yield Row(theirs, tuple(_write(entry.ours, written)), entry.explain(given or None), tuple(needs.split()))


def _write(ours: Sequence[str], written: str | None) -> Iterator[str]:
    if written is not None and written.startswith("burnish "):
        yield written
        return
    for each in ours:
        if written is None or each.startswith("burnish "):
            yield each
        elif each.startswith("--"):
            yield f"{each} {written}"
        else:
            yield f'{each}="{written}"' if " " in written else f"{each}={written}"


def write_page(page: Mapping[str, Any]) -> str:
    """Write one page as Markdown."""
    return "\n".join(_lines(page)) + "\n"


def _lines(page: Mapping[str, Any]) -> Iterator[str]:
    yield from [f"# {page['title']}", "", page["lead"].strip(), "", "A first job there:", ""]
    yield from ["```text", page["theirs"].strip(), "```", "", "and here:", ""]
    yield "<!-- test: skip because it trains; a test reads the commands -->"
    console = "\n".join(line if line.startswith(" ") else f"$ {line}" for line in page["here"].strip().splitlines())
    yield from ["```console", console, "```", "", page["after"].strip()]
    for group in page["groups"]:
        yield from ["", f"## {group}", "", "| there | here | |", "| --- | --- | --- |"]
        for row in rows_of(page, group):
            here = " or ".join(f"`{each}`" for each in row.ours) or "\N{EN DASH}"
            yield f"| `{row.theirs}` | {here} | {row.note} |"
    yield from [
        "",
        "This page is written from the table behind the hints of error messages by `python -m bench.coming_from`.",
    ]
    yield "`burnish config check` answers names of other tools in the same way."


def main() -> None:
    """Write all pages."""
    for page in read_pages():
        (PAGES / f"{page['page']}.md").write_text(write_page(page), encoding="utf-8")


if __name__ == "__main__":
    main()
