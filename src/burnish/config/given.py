"""Reads options given as values of Python: mappings, texts and numbers become layers with the origin of the call."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from burnish.config.nodes import Branch, Items, Leaf, Node, brief, spread
from burnish.config.origins import Origin
from burnish.errors import ConfigError, Problem


@dataclass(frozen=True)
class Given:
    """An experiment that was given as values and not as a file: what it is called, and its layers, lowest first."""

    name: str
    layers: tuple[Branch, ...]

    def __str__(self) -> str:
        return self.name


def from_values(options: Mapping[str, object], *, origin: Origin) -> list[Branch]:
    """Make a layer of each option, whose key may be dotted; raise one ConfigError for all that cannot be one."""
    problems: list[Problem] = []
    layers = [_layer(key, value, origin, problems) for key, value in options.items()]
    if problems:
        raise ConfigError(problems, subject="the request")
    return layers


def _layer(key: object, value: object, origin: Origin, problems: list[Problem]) -> Branch:
    node = Branch({str(key): _node(value, origin, path=str(key), problems=problems)}, origin)
    keys = spread(str(key)).split(".")
    if not isinstance(key, str) or not all(keys):
        problems.append(Problem(f"{key!r} is no option; write the path of one, like 'train.batch'", origin.lines()))
        return node
    inner = node.nodes[key]
    for part in reversed(keys):
        inner = Branch({part: inner}, inner.origin)
    assert isinstance(inner, Branch)  # the loop ran at least once
    return inner


def _node(value: object, origin: Origin, *, path: str, problems: list[Problem]) -> Node:
    node: Node
    if isinstance(value, Mapping):
        inner = {str(key): _node(each, origin, path=f"{path}.{key}", problems=problems) for key, each in value.items()}
        node = Branch(inner, origin)
    elif isinstance(value, list | tuple):
        items = (_node(each, origin, path=f"{path}[{at}]", problems=problems) for at, each in enumerate(value))
        node = Items(tuple(items), origin)
    else:
        node = Leaf(_text(value, origin, path=path, problems=problems), origin)
    return replace(node, origin=replace(origin, value=brief(node)))


def _text(value: object, origin: Origin, *, path: str, problems: list[Problem]) -> str | None:
    value = value.item() if hasattr(value, "item") and getattr(value, "ndim", None) == 0 else value  # of numpy
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    kind = type(value).__name__
    problems.append(Problem(f"{path} must be text, a number, a list or a mapping, got {kind}", origin.lines()))
    return None
