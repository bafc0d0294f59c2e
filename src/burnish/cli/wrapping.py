"""Sentences on a terminal: long lines are broken between words and keep their indent."""

import os
import re
import sys
from typing import TextIO

_NARROWEST = 40
"""On a terminal that is narrower, breaking lines helps no reader."""
_WIDEST_INDENT = 24
_COMMAND = re.compile(r"\s+(burnish|pip|python|kubectl|gcloud|docker) ")
_LEAD = re.compile(r"\s*(?:(?:note|error): |[✓✗] (?:\S+ +)?|\S+(?: \S+){0,3} {2,})?")
"""What continuation lines are indented past: a mark, or the first of two columns."""
_SHELL_WORD = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*'|["'])+""")


class Verbatim(str):
    """A text that is printed as it is, such as a YAML document or the log of a job."""

    __slots__ = ()


def say(text: str, *, stream: TextIO | None = None, head: str = "") -> None:
    """Print a text, by default to standard error; on a terminal, break its long lines between words.

    `head` is the first word in colour.
    """
    stream = stream or sys.stderr
    columns = terminal_columns(stream)
    if columns is not None and not isinstance(text, Verbatim):
        text = wrap_text(text, columns=columns)
    if head:
        text = head + text[text.index(" ") :]
    print(text, file=stream, flush=True)


def terminal_columns(stream: TextIO) -> int | None:
    """Return the width of the terminal that a stream writes to; None where it writes to a file or a pipe."""
    if not stream.isatty():
        return None
    stated = os.environ.get("COLUMNS", "")
    if stated.isdigit() and int(stated):
        return int(stated)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def wrap_text(text: str, *, columns: int) -> str:
    """Break every line that is longer than a terminal is wide."""
    return "\n".join(_wrap_line(line, max(columns, _NARROWEST)) for line in text.split("\n"))


def _wrap_line(line: str, columns: int) -> str:
    if len(line) <= columns:
        return line
    indent = " " * (len(line) - len(line.lstrip()))
    if _COMMAND.match(line):
        # not `split`: a space between quotes is part of a word
        return _fill(_SHELL_WORD.findall(line), first=indent, rest=f"{indent}  ", columns=columns, ending=" \\")
    lead = _LEAD.match(line)
    if lead is not None and len(indent) < lead.end() <= _WIDEST_INDENT:
        first, rest = line[: lead.end()], " " * lead.end()
    else:
        first, rest = indent, f"{indent}  " if indent else ""
    return _fill(re.split(r"(?<=\S) ", line[len(first) :]), first=first, rest=rest, columns=columns)


def _fill(words: list[str], *, first: str, rest: str, columns: int, ending: str = "") -> str:
    """Put as many words on each line as fit; one that is longer than a line, such as a path, stays whole."""
    lines = [first + words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) + len(ending) <= columns:
            lines[-1] += f" {word}"
        else:
            lines.append(rest + word.lstrip())
    return f"{ending}\n".join(line.rstrip() for line in lines)
