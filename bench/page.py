"""Puts measured tables into the page of benchmarks, each between its two marks; the rest of the page is left alone."""

from collections.abc import Iterable
from pathlib import Path


def put(path: Path, name: str, lines: Iterable[str]) -> None:
    """Replace what stands between the marks of this name."""
    path.write_text(replaced(path.read_text(encoding="utf-8"), name, lines), encoding="utf-8")


def replaced(text: str, name: str, lines: Iterable[str]) -> str:
    """Give the text with these lines between the marks of this name."""
    begin, end = marks(name)
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"the page must have {begin} and, below it, {end}, once each")
    head, rest = text.split(begin)
    return "\n".join([f"{head}{begin}", "", *lines, "", f"{end}{rest.split(end)[1]}"])


def marks(name: str) -> tuple[str, str]:
    """Give the lines that a part of the page begins and ends with."""
    return f"<!-- bench: {name} -->", f"<!-- bench: end of {name} -->"
