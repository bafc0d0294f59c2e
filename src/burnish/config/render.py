"""Writes an experiment out in full: canonical YAML that loads back to the same experiment."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from burnish.config.nodes import Path, one_line, write_path
from burnish.config.shape import describe_fields
from burnish.registry import Registry, default_registry
from burnish.spec.component import Component
from burnish.spec.experiment import Experiment

NOT_LEARNED = ("name", "description", "track", "notify")
"""Options that change nothing of what is learned."""
Comment = Callable[[Path], str]

_PLAIN = re.compile(r"(?:[A-Za-z0-9_./+]|-(?=[\w.]))(?:[\w./+%@-]|:(?=[\w/.])| (?=[\w./+%(]))*")
_NULLS = ("null", "Null", "NULL")
_COLUMN = 44


@dataclass(frozen=True)
class OptionDifference:
    """An option that two experiments do not share; None where one has no such option."""

    path: str
    left: str | None
    right: str | None

    @property
    def is_learned(self) -> bool:
        """Tell whether the option shapes what is learned."""
        return not self.path.startswith(NOT_LEARNED)


def document(experiment: Component, *, registry: Registry | None = None) -> dict[str, Any]:
    """Write every option as plain JSON values, defaults too, `type` first."""
    registry = registry or default_registry()
    shapes = describe_fields(type(experiment))
    options = {name for name, shape in shapes.items() if shape.is_plain}
    dumped = experiment.model_dump(mode="json", include=options)
    return {
        name: dumped[name] if shape.is_plain else _nest(getattr(experiment, name), shape.slot, registry)
        for name, shape in shapes.items()
    }


def render(
    experiment: Experiment, *, origin: Callable[[str], object] | None = None, registry: Registry | None = None
) -> str:
    """Write canonical YAML; with `origin`, each value is followed by a comment that tells where it came from."""
    comment = (lambda path: str(origin(write_path(path)))) if origin else None
    return emit(document(experiment, registry=registry), comment=comment)


def fingerprint(experiment: Experiment, *, registry: Registry | None = None) -> str:
    """Digest everything that shapes what is learned; name, description, trackers and notifiers do not."""
    options = document(experiment, registry=registry)
    kept = {key: value for key, value in options.items() if key not in NOT_LEARNED}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def diff(left: Experiment, right: Experiment, *, registry: Registry | None = None) -> list[OptionDifference]:
    """List the options in which two experiments differ, in the order they are written."""
    ours, theirs = (_lines(each, registry) for each in (left, right))
    paths = dict.fromkeys([*ours, *theirs])
    return [OptionDifference(p, ours.get(p), theirs.get(p)) for p in paths if ours.get(p) != theirs.get(p)]


def leaves(value: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Walk through every value of a document with its path; a list of plain values is one value."""
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from leaves(each, (*path, key))
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        for index, each in enumerate(value):
            yield from leaves(each, (*path, index))
    else:
        yield path, value


def _lines(experiment: Experiment, registry: Registry | None) -> dict[str, str]:
    return {write_path(path): write_value(value) for path, value in leaves(document(experiment, registry=registry))}


def _nest(value: object, slot: Any, registry: Registry) -> object:
    if isinstance(value, Mapping):
        return {name: _nest(each, slot, registry) for name, each in value.items()}
    if isinstance(value, tuple):
        return [_nest(each, slot, registry) for each in value]
    if not isinstance(value, Component):
        return value
    name = {"type": registry.name_of(slot.kind, type(value))} if slot else {}
    return {**name, **document(value, registry=registry)}


def emit(document: Mapping[str, object], *, comment: Comment | None = None) -> str:
    """Write a document, with a comment behind each value if one is asked for."""
    return "".join(f"{_add_comment(line, path, comment)}\n" for line, path in _section(document, (), indent=""))


def write_value(value: object) -> str:
    """Write one value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_text(str(key))}: {write_value(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(write_value, value))}]"
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
            yield f"{label} {write_value(value)}", here


def _list(values: list[object], path: Path, *, indent: str) -> Iterator[tuple[str, Path | None]]:
    for index, value in enumerate(values):
        here = (*path, index)
        if isinstance(value, Mapping) and value:
            (first, place), *rest = _section(value, here, indent=f"{indent}  ")
            yield f"{indent}- {first.lstrip(' ')}", place
            yield from rest
        else:
            yield f"{indent}- {write_value(value)}", here


def _add_comment(line: str, path: Path | None, comment: Comment | None) -> str:
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
