"""Writes plain values as YAML that our reader reads back to the same texts."""

import re
from collections.abc import Callable, Iterator, Mapping

import yaml

from burnish.config.nodes import Path, one_line

Comment = Callable[[Path], str]

_PLAIN = re.compile(r"(?:[A-Za-z0-9_./+]|-(?=[\w.]))(?:[\w./+%@-]|:(?=[\w/.])| (?=[\w./+%(]))*")
_NULLS = ("null", "Null", "NULL")
_COLUMN = 44


def emit(document: Mapping[str, object], *, comment: Comment | None = None) -> str:
    """Write a document, with a comment behind each value if one is asked for."""
    return "".join(f"{_commented(line, path, comment)}\n" for line, path in _section(document, (), indent=""))


def written(value: object) -> str:
    """Write one value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(str(key))}: {written(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(written, value))}]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return re.sub(r"e([+-])0", r"e\1", repr(value)) if isinstance(value, float) else _text(str(value))


def _section(section: Mapping[str, object], path: Path, *, indent: str) -> Iterator[tuple[str, Path | None]]:
    for key, value in section.items():
        here = (*path, key)
        label = f"{indent}{_text(key)}:"
        if isinstance(value, Mapping) and value:
            yield label, None
            yield from _section(value, here, indent=f"{indent}  ")
        elif isinstance(value, list) and any(isinstance(each, Mapping) and each for each in value):
            yield label, None
            yield from _list(value, here, indent=f"{indent}  ")
        else:
            yield f"{label} {written(value)}", here


def _list(values: list[object], path: Path, *, indent: str) -> Iterator[tuple[str, Path | None]]:
    for index, value in enumerate(values):
        here = (*path, index)
        if isinstance(value, Mapping) and value:
            (first, place), *rest = _section(value, here, indent=f"{indent}  ")
            yield f"{indent}- {first.lstrip(' ')}", place
            yield from rest
        else:
            yield f"{indent}- {written(value)}", here


def _commented(line: str, path: Path | None, comment: Comment | None) -> str:
    if path is None or comment is None:
        return line
    return f"{line:<{_COLUMN}}  # {one_line(comment(path))}"


def _text(text: str) -> str:
    """Write text bare where that reads back the same, else in double quotes."""
    if _PLAIN.fullmatch(text) and text not in _NULLS and text.isascii():
        return text
    # a huge width keeps the emitter from folding: a value is always one line
    quoted = yaml.dump(text, Dumper=yaml.SafeDumper, default_style='"', allow_unicode=True, width=1 << 30)
    return str(quoted).rstrip("\n")
