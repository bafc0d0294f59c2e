"""Tables: drawn by rich on a terminal, aligned plain text elsewhere."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass


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
        for column in table.columns:
            drawn.add_column(column, justify="right" if column in table.right else "left", overflow="fold")
        for row in table.rows:
            drawn.add_row(*map(Text, row))
        Console(highlight=False).print(drawn)
    else:
        print(plain(table))


def plain(table: TextTable) -> str:
    """Align a table with spaces, two between columns."""
    widths = [max(map(len, column)) for column in zip(table.columns, *table.rows, strict=True)]
    lines = [_line(cells, table, widths) for cells in (table.columns, *table.rows)]
    return "\n".join([*([table.title] if table.title else []), *lines])


def _line(cells: Sequence[str], table: TextTable, widths: Sequence[int]) -> str:
    padded = [
        cell.rjust(width) if column in table.right else cell.ljust(width)
        for cell, column, width in zip(cells, table.columns, widths, strict=True)
    ]
    return "  ".join(padded).rstrip()
