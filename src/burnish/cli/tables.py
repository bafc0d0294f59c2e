"""Tables: drawn by rich on a terminal, aligned plain text elsewhere."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

_ROOM = 16
"""Characters in which a sentence can still be read, a few words a line."""


@dataclass(frozen=True)
class TextTable:
    """Hold headed columns; those named in `right` are aligned to the right."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[str, ...] = ()
    title: str = ""


def shorten(text: str, *, most: int = 60) -> str:
    """Put a text on one line, and cut it where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def show(table: TextTable) -> None:
    """Print a table to standard output in the form that suits it."""
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        drawn = Table(title=table.title or None, title_justify="left", box=None, pad_edge=False, header_style="bold")
        console = Console(highlight=False)
        whole = _whole_columns(table, columns=console.width)
        for number, column in enumerate(table.columns):
            justify: Literal["left", "right"] = "right" if column in table.right else "left"
            drawn.add_column(column, justify=justify, overflow="fold", no_wrap=number in whole)
        for row in table.rows:
            drawn.add_row(*map(Text, row))
        console.print(drawn)
    else:
        print(plain(table))


def _whole_columns(table: TextTable, *, columns: int) -> set[int]:
    """Choose the columns that no narrow terminal breaks: all but the widest, if that still has room for sentences."""
    widths = _widths(table)
    if not widths:
        return set()
    widest = widths.index(max(widths))
    others = {*range(len(widths))} - {widest}
    room = columns - sum(widths[number] + 2 for number in others)
    return others if room >= min(_ROOM, widths[widest]) else set()


def plain(table: TextTable) -> str:
    """Align a table with spaces, two between columns."""
    widths = _widths(table)
    lines = [_line(cells, table, widths) for cells in (table.columns, *table.rows)]
    return "\n".join([*([table.title] if table.title else []), *lines])


def _widths(table: TextTable) -> list[int]:
    return [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]


def _line(cells: Sequence[str], table: TextTable, widths: Sequence[int]) -> str:
    padded = [
        cell.rjust(width) if column in table.right else cell.ljust(width)
        for cell, column, width in zip(cells, table.columns, widths, strict=True)
    ]
    return "  ".join(padded).rstrip()
