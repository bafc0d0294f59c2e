"""Writes the page of what other systems can do and what does it here: `python -m bench.coverage`; a test compares."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "reference" / "coverage.md"
BETWEEN = " · "
HEAD = """\
# Coverage

What five published training systems can do, the command or option that does it here, and the test that proves it. The
page is written from `bench/coverage.yaml` by `python -m bench.coverage`; a test sees that each command, option and test
is there.
"""


def read_table() -> Any:
    """Read the table."""
    return yaml.safe_load((HERE / "coverage.yaml").read_text(encoding="utf-8"))


def write_page(table: Any) -> str:
    """Write the table as Markdown."""
    return "\n".join(_lines(table)) + "\n"


def _lines(table: Any) -> Iterator[str]:
    yield HEAD.rstrip()
    for part in table["parts"]:
        yield from ["", f"## {part['name']}", "", "| what it can do | here | test |", "| --- | --- | --- |"]
        for what, here, test in part["rows"]:
            yield f"| {what} | {', '.join(f'`{_show(each)}`' for each in here.split(BETWEEN))} | `tests/{test}` |"
    yield from ["", "## Left out", "", "| what | why |", "| --- | --- |"]
    for what, *why in table["left"]:
        yield f"| {what} | {', '.join(why)} |"


def _show(here: str) -> str:
    """Write a name as it is typed: `experiment=` and `file=` only say what sort of name it is."""
    if here.startswith("experiment="):
        return f"burnish train {here.removeprefix('experiment=')}"
    return here.removeprefix("file=")


if __name__ == "__main__":
    PAGE.write_text(write_page(read_table()), encoding="utf-8")
