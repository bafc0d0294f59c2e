"""Writes an experiment out in full: canonical YAML that loads back to the same experiment."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from burnish.config.emit import emit, written
from burnish.config.nodes import Path, dotted
from burnish.config.shape import shapes_of
from burnish.registry import Registry, default_registry
from burnish.spec.component import Component
from burnish.spec.experiment import Experiment

_NOT_LEARNED = ("name", "description", "track")
"""Options that change nothing of what is learned."""


@dataclass(frozen=True)
class OptionDifference:
    """An option that two experiments do not share; None where one has no such option."""

    path: str
    left: str | None
    right: str | None

    @property
    def is_learned(self) -> bool:
        """Tell whether the option shapes what is learned."""
        return not self.path.startswith(_NOT_LEARNED)


def document(experiment: Component, *, registry: Registry | None = None) -> dict[str, Any]:
    """Give every option as plain JSON values, defaults too, `type` first."""
    registry = registry or default_registry()
    shapes = shapes_of(type(experiment))
    options = {name for name, shape in shapes.items() if shape.is_plain}
    dumped = experiment.model_dump(mode="json", include=options)
    return {
        name: dumped[name] if shape.is_plain else _nested(getattr(experiment, name), shape.slot, registry)
        for name, shape in shapes.items()
    }


def render(
    experiment: Experiment, *, origin: Callable[[str], object] | None = None, registry: Registry | None = None
) -> str:
    """Write canonical YAML; with `origin`, each value is followed by a comment that tells where it came from."""
    comment = (lambda path: str(origin(dotted(path)))) if origin else None
    return emit(document(experiment, registry=registry), comment=comment)


def fingerprint(experiment: Experiment, *, registry: Registry | None = None) -> str:
    """Digest everything that shapes what is learned; name, description and trackers do not."""
    options = document(experiment, registry=registry)
    kept = {key: value for key, value in options.items() if key not in _NOT_LEARNED}
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def diff(left: Experiment, right: Experiment, *, registry: Registry | None = None) -> list[OptionDifference]:
    """List the options in which two experiments differ, in the order they are written."""
    ours, theirs = (_lines(each, registry) for each in (left, right))
    paths = dict.fromkeys([*ours, *theirs])
    return [OptionDifference(p, ours.get(p), theirs.get(p)) for p in paths if ours.get(p) != theirs.get(p)]


def leaves(value: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Give every value of a document with its path; a list of plain values is one value."""
    if isinstance(value, Mapping) and value:
        for key, each in value.items():
            yield from leaves(each, (*path, key))
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        for index, each in enumerate(value):
            yield from leaves(each, (*path, index))
    else:
        yield path, value


def _lines(experiment: Experiment, registry: Registry | None) -> dict[str, str]:
    return {dotted(path): written(value) for path, value in leaves(document(experiment, registry=registry))}


def _nested(value: object, slot: Any, registry: Registry) -> object:
    if isinstance(value, Mapping):
        return {name: _nested(each, slot, registry) for name, each in value.items()}
    if isinstance(value, tuple):
        return [_nested(each, slot, registry) for each in value]
    if not isinstance(value, Component):
        return value
    name = {"type": registry.name_of(slot.kind, type(value))} if slot else {}
    return {**name, **document(value, registry=registry)}
