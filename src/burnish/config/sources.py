"""Gathers the layers of an experiment in order: the experiment, config files, overrides."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from burnish.config.environment import fill_in
from burnish.config.foreign import find_foreign
from burnish.config.given import Given
from burnish.config.locate import locate, locate_layer
from burnish.config.nodes import Branch, Leaf, Node, brief, one_line, spread
from burnish.config.origins import Origin
from burnish.config.reader import SUFFIXES, read_file, read_text, scalar
from burnish.config.trust import was_recorded
from burnish.errors import ConfigError, Problem
from burnish.registry import Registry
from burnish.spec.experiment import Experiment

_SHOWN = 80
_FLOW = ("[", "{", '"', "'")
_NEXT = re.compile(r",(?=\s*[A-Za-z_][\w.\[\]]*=)")
_OPENING, _CLOSING = "[{(", "]})"
_BEFORE_QUOTES = ("", "=", ",", ":", *_OPENING)


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
    readers += [partial(_layer, path, registry=registry) for path in configs]
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
    return [named, _read(located.path, source=located.source, is_ready_made=located.provider != "file")]


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
    # A notifier may have been given its secret, which is refused and must not be repeated.
    shown = f"{path}=…" if keys[0] == "notify" and value.strip().startswith(_FLOW) else _show(text)
    node = read_value(value.strip(), source=f"{shown} {said}")
    for key in reversed(keys):
        node = Branch({key: node}, node.origin)
    assert isinstance(node, Branch)  # the loop ran at least once
    return node


def split_overrides(text: str) -> list[str | Branch]:
    """Cut `a.b=1,c=[1,2],d='x, y'` into its overrides, as Model Garden does; a mapping or a YAML file is read whole.

    A comma inside of brackets or quotes belongs to a value, and so does one that no `key=` follows.
    """
    if text.endswith(SUFFIXES) and "=" not in text:
        return [_read(Path(text), source=text)]
    if text.lstrip().startswith("{"):
        node = read_text(text, source=f"{_show(text)} on the command line", numbered=False)
        assert isinstance(node, Branch)  # it begins with a brace
        return [node]
    words: list[str] = []
    start, depth, quote = 0, 0, ""
    for place, letter in enumerate(text):
        # A quote begins where a value does; within a word it is an apostrophe.
        if quote or (letter in "\"'" and text[:place].rstrip()[-1:] in _BEFORE_QUOTES):
            quote = "" if letter == quote else quote or letter
        depth += (not quote) * ((letter in _OPENING) - (letter in _CLOSING))
        if not quote and not depth and _NEXT.match(text, place):
            words.append(text[start:place])
            start = place + 1
    return [word.strip() for word in (*words, text[start:])]


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


def _layer(name: str, *, registry: Registry) -> list[Branch]:
    """Read a file or a named layer; what describes a layer is not said of the experiment."""
    located = locate_layer(str(name), registry=registry)
    is_named = located.provider != "file"
    read = _read(located.path, source=located.source, is_ready_made=is_named)
    nodes = {key: node for key, node in read.nodes.items() if not (is_named and key == "description")}
    return [replace(read, nodes=nodes)]


def _read(path: Path, *, source: str, is_ready_made: bool = False) -> Branch:
    """Read a config; only one that a user wrote may ask for variables of the environment."""
    is_recorded = was_recorded(path)
    branch = read_file(path, source=source, is_ready_made=is_ready_made or is_recorded)
    return branch if is_recorded else fill_in(branch)


def _override(given: str | Branch, *, said: str) -> list[Branch]:
    return [fill_in(given if isinstance(given, Branch) else override(given, said=said))]


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
