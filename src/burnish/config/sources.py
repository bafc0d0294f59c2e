"""Gathers the layers of an experiment in order: the experiment, config files, overrides."""

import os
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from burnish.config.foreign import find_foreign
from burnish.config.given import Given
from burnish.config.locate import locate
from burnish.config.nodes import Branch, Leaf, Node, brief, one_line, spread
from burnish.config.origins import Origin
from burnish.config.reader import SUFFIXES, read_file, read_text, scalar
from burnish.errors import ConfigError, Problem
from burnish.registry import Registry
from burnish.spec.experiment import Experiment

_SHOWN = 80
_FLOW = ("[", "{", '"', "'")
_NEXT = re.compile(r",(?=\s*[A-Za-z_][\w.\[\]]*=)")


def layers(
    name: str | Given,
    *,
    configs: Sequence[str],
    overrides: Sequence[str | Branch],
    registry: Registry,
    measured: Sequence[str] = (),
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


def experiment(name: str | Given, *, registry: Registry) -> Sequence[Branch]:
    """Read a named experiment; below it lies the name it has from its file. One that was given has its layers."""
    if isinstance(name, Given):
        return name.layers
    located = locate(name, registry=registry)
    origin = Origin(f"the name of {located.source}", value=located.name)
    named = Branch({"name": Leaf(located.name, origin)}, origin)
    return [named, read_file(located.path, source=located.source)]


def override(text: str, *, said: str = "on the command line") -> Branch:
    """Read `key.path=value`: a value in brackets or quotes is YAML, any other is text as it stands."""
    path, equals, value = text.partition("=")
    keys = [key.strip() for key in spread(path).split(".")]
    if not equals or not all(keys):
        raise ConfigError([Problem(f"'{one_line(text)}' is not an override; {_rather(text)}")])
    words = _split_joined(text)
    if words:
        raise ConfigError(
            [Problem(f"'{_show(text)}' joins several overrides; write them separately: {' '.join(words)}")]
        )
    node = read_value(value.strip(), source=f"{_show(text)} {said}")
    for key in reversed(keys):
        node = Branch({key: node}, node.origin)
    assert isinstance(node, Branch)  # the loop ran at least once
    return node


def _rather(text: str) -> str:
    """Say how to write what was given in the place of an override."""
    if text.endswith(SUFFIXES):
        return f"did you mean `-c {one_line(text)}`?"
    if os.path.isfile(text):
        return f"did you mean `data.train={one_line(text)}`?"
    return "write key.path=value, like train.batch=16"


def _split_joined(text: str) -> list[str]:
    """Cut `a.b=1,c=2` into its overrides, if all of them name options; a value in brackets or quotes is one value."""
    words = _NEXT.split(text)
    is_one = len(words) == 1 or any(word.partition("=")[2].strip().startswith(_FLOW) for word in words)
    names = [word.partition("=")[0].strip() for word in words]
    return [] if is_one or not all(map(_is_option, names)) else [word.strip() for word in words]


def _is_option(name: str) -> bool:
    return name.partition(".")[0] in Experiment.model_fields or find_foreign(name) is not None


def _file(path: str) -> list[Branch]:
    return [read_file(Path(path), source=path)]


def _override(given: str | Branch, *, said: str) -> list[Branch]:
    return [given if isinstance(given, Branch) else override(given, said=said)]


def read_value(text: str, *, source: str) -> Node:
    """Read the value of an override; only a bracket or quote makes it YAML, so `*.csv` and `a: b` need no quoting."""
    if not text.startswith(_FLOW):
        leaf = Leaf(scalar(text), Origin(source))
        return Leaf(leaf.value, Origin(source, value=brief(leaf)))
    node = read_text(text, source=source, numbered=False)
    assert node is not None  # it begins with a bracket or a quote
    return node


def _show(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"
