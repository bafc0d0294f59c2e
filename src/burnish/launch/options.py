"""Reads launch options: files and KEY=VALUE words, laid over one another like an experiment's, with their origins."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import SkipValidation

from burnish.config.nodes import Branch, Leaf, Node
from burnish.config.origins import Origin
from burnish.config.reader import read_file
from burnish.config.resolve import resolve_as
from burnish.config.sources import override
from burnish.errors import ConfigError, Problem
from burnish.launch.variables import mask_words
from burnish.spec.component import Component, Slot
from burnish.spec.launcher import Launcher

PREFIX = "launch."
_SECTION = "launch"
_USUAL = "vertex"


class LaunchOptions(Component):
    """Where a job runs; never part of an experiment."""

    launch: Annotated[SkipValidation[Launcher], Slot("launchers")]


def read_launcher(where: str | None, given: Sequence[str]) -> Launcher:
    """Read the launcher that is named and its options, from files and words in order; refuse with every problem.

    Without a name it is the one that the options are of, as when files are only packed.
    """
    problems: list[Problem] = []
    layers: list[Branch] = []
    for each in given:
        try:
            if "=" in each and not Path(each).is_file():
                text = each if each.startswith(PREFIX) else f"{PREFIX}{each}"
                layer = override(text)
            else:
                layer = read_file(Path(each), source=each)
                layer = layer if [*layer.nodes] == [_SECTION] else _wrap(layer)
            layers.append(Branch({name: _mask(node) for name, node in layer.nodes.items()}, layer.origin))
        except ConfigError as error:
            problems += error.problems
    if where is None:
        where = next(filter(None, map(_type_of, reversed(layers))), _USUAL)
    problems += [_refuse_other(layer, where) for layer in layers if _type_of(layer) not in (None, where)]
    if problems:
        raise ConfigError(problems, subject="the launch")
    named = Origin(f"--on {where}", value=where)
    layers.append(_wrap(Branch({"type": Leaf(where, named)}, named)))
    options: LaunchOptions = resolve_as(LaunchOptions, layers, subject="the launch")
    return options.launch


def split_words(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Separate words of the experiment from launch options."""
    ours = [word for word in words if word.startswith(PREFIX)]
    return [word for word in words if word not in ours], ours


def _type_of(layer: Branch) -> str | None:
    """Name the launcher that a file or a word is of, if it says so."""
    section = layer.nodes[_SECTION]
    if isinstance(section, Branch):
        section = section.nodes.get("type", section)
    return section.value if isinstance(section, Leaf) else None


def _refuse_other(layer: Branch, where: str) -> Problem:
    """Say which options would be lost: those of one launcher mean nothing to another."""
    section, other = layer.nodes[_SECTION], _type_of(layer)
    names = [name for name in section.nodes if name != "type"] if isinstance(section, Branch) else []
    lost = f" ({', '.join(names)})" if names else ""
    return Problem(
        f"these are options of {other}{lost}, and the job runs on {where}; "
        f"run it with --on {other}, or take `type` out of options that both have",
        (str(section.origin),),
    )


def _wrap(options: Branch) -> Branch:
    return Branch({_SECTION: options}, options.origin)


def _mask(section: Node) -> Node:
    """Take the values of variables out of what errors quote: origins, and a value where a mapping should be."""
    env = section.nodes.get("env") if isinstance(section, Branch) else None
    if not isinstance(section, Branch) or env is None:
        return section
    hidden: Node = Leaf("***", _without_value(env.origin))
    if isinstance(env, Branch):
        hidden = Branch({name: _hide(node) for name, node in env.nodes.items()}, _without_value(env.origin))
    return Branch({**section.nodes, "env": hidden}, _without_value(section.origin), type=section.type)


def _hide(node: Node) -> Node:
    return replace(node, origin=_without_value(node.origin))


def _without_value(origin: Origin) -> Origin:
    return Origin(mask_words([origin.source])[0], origin.line, value="***")
