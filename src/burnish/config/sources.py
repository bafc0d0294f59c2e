"""Gathers the layers of an experiment in order: the experiment, config files, overrides."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from burnish.config.locate import locate
from burnish.config.nodes import Branch, Leaf, Node, brief, one_line, spread
from burnish.config.origins import Origin
from burnish.config.reader import read_file, read_text, scalar
from burnish.errors import ConfigError, Problem
from burnish.registry import Registry

_SHOWN = 80
_FLOW = ("[", "{", '"', "'")


def layers(
    name: str, *, configs: Sequence[str], overrides: Sequence[str], registry: Registry, measured: Sequence[str] = ()
) -> list[Branch]:
    """Read every layer, lowest first; raise one ConfigError for all that cannot be read."""
    problems: list[Problem] = []
    read: list[Branch] = []
    readers: list[Callable[[], Sequence[Branch]]] = [partial(experiment, name, registry=registry)]
    readers += [partial(_file, path) for path in configs]
    readers += [partial(_override, text, said="measured on this machine") for text in measured]
    readers += [partial(_override, text, said="on the command line") for text in overrides]
    for reader in readers:
        try:
            read.extend(reader())
        except ConfigError as error:
            problems.extend(error.problems)
    if problems:
        raise ConfigError(problems, subject="the request")
    return read


def experiment(name: str, *, registry: Registry) -> list[Branch]:
    """Read a named experiment; below it lies the name it has from its file."""
    located = locate(name, registry=registry)
    origin = Origin(f"the name of {located.source}", value=located.name)
    named = Branch({"name": Leaf(located.name, origin)}, origin)
    return [named, read_file(located.path, source=located.source)]


def override(text: str, *, said: str = "on the command line") -> Branch:
    """Read `key.path=value`: a value in brackets or quotes is YAML, any other is text as it stands."""
    path, equals, value = text.partition("=")
    keys = [key.strip() for key in spread(path).split(".")]
    if not equals or not all(keys):
        raise ConfigError([Problem(f"'{one_line(text)}' is no override; write key.path=value, like train.batch=16")])
    node = _value(value.strip(), source=f"{_shown(text)} {said}")
    for key in reversed(keys):
        node = Branch({key: node}, node.origin)
    assert isinstance(node, Branch)  # the loop ran at least once
    return node


def _file(path: str) -> list[Branch]:
    return [read_file(Path(path), source=path)]


def _override(text: str, *, said: str) -> list[Branch]:
    return [override(text, said=said)]


def _value(text: str, *, source: str) -> Node:
    """Read a value; only a bracket or quote makes it YAML, so `*.csv` and `a: b` need no quoting."""
    if not text.startswith(_FLOW):
        leaf = Leaf(scalar(text), Origin(source))
        return Leaf(leaf.value, Origin(source, value=brief(leaf)))
    node = read_text(text, source=source, numbered=False)
    assert node is not None  # it begins with a bracket or a quote
    return node


def _shown(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
