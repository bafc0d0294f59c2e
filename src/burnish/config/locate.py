"""Finds experiments and layers: those shipped as package data, those of plug-ins, and files by path."""

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from importlib.resources import files
from pathlib import Path
from types import ModuleType

from burnish.config.nodes import Leaf
from burnish.config.reader import SUFFIXES, read_file
from burnish.errors import ConfigError, Problem
from burnish.nearest import nearest
from burnish.registry import Registry, default_registry
from burnish.storage.address import read_address

PLAN = "plan.yaml"
_EXPERIMENTS, _LAYERS = "experiments", "layers"


@dataclass(frozen=True)
class Located:
    """An experiment file: its name, the name its origins show, and who provides it."""

    name: str
    source: str
    path: Path
    provider: str


@dataclass(frozen=True)
class ExperimentListing:
    """A named experiment with the line that describes it."""

    name: str
    description: str
    provider: str
    path: Path | None


def locate(name: str, *, registry: Registry | None = None) -> Located:
    """Find an experiment by name, by path to a YAML file, or by a run directory that holds a plan."""
    if name.endswith(SUFFIXES):
        path = Path(name)
        return Located(path.stem if path.name != PLAN else path.parent.name, name, path, provider="file")
    registry = registry or default_registry()
    found = [*_shipped(only=name), *_plugged(name, registry)]
    if len(found) > 1:
        raise _refusal(f"the experiment '{name}' is provided twice, by {' and '.join(each.provider for each in found)}")
    if found:
        return found[0]
    address = read_address(name)
    plan = Path(name, PLAN)
    if address is not None:
        return Located(address.rpartition("/")[2], f"{address}/{PLAN}", plan, provider="run")
    if os.path.isfile(plan):  # unlike Path's, it takes any text
        return Located(Path(name).name, str(plan), plan, provider="run")
    if os.path.isfile(name):
        written = shlex.quote(name)
        raise _refusal(f"{name} is data, not an experiment. Write one for it: `burnish new {written}`")
    names = [each.name for each in experiments(registry=registry)]
    close = nearest(name, names) or nearest(name, [each.rpartition("/")[2] for each in names])
    meant = next((each for each in names if close and each.endswith(close)), None)
    hint = f" Did you mean `{meant}`?" if meant else ""
    known = f"There are {', '.join(names)}; name your own file by its path, ending in .yaml."
    raise _refusal(f"no experiment is called '{name}'.{hint} {known}")


def locate_layer(name: str, *, registry: Registry | None = None) -> Located:
    """Find what `-c` names: a file, a layer that ships with Burnish like `models/albert-base`, or an experiment."""
    if Path(name).suffix or os.path.isfile(name):
        return Located(Path(name).stem, name, Path(name), provider="file")
    found = next(_shipped(_LAYERS, only=name), None)
    names = [each.name for each in _shipped(_LAYERS)]
    if found is None and (name.startswith("models/") or nearest(name, names)):
        close = nearest(name, names)
        hint = f"Did you mean `{close}`?" if close else f"There are {', '.join(names)}; a file ends in .yaml."
        raise _refusal(f"no layer is called '{name}'. {hint}")
    return found or locate(name, registry=registry)


def layers() -> list[ExperimentListing]:
    """List the layers that `-c` takes by name."""
    return [*map(_list, _shipped(_LAYERS))]


def experiments(*, registry: Registry | None = None) -> list[ExperimentListing]:
    """List every named experiment; one that cannot be read says so in its description."""
    registry = registry or default_registry()
    listed = [*map(_list, _shipped())]
    for point in registry.entry_points("experiments"):
        try:
            listed.extend(map(_list, _of_entry_point(point)))
        except ConfigError as error:
            listed.append(ExperimentListing(point.name, error.problems[0].message, _provider(point), None))
    return listed


def _shipped(folder: str = _EXPERIMENTS, *, only: str | None = None) -> Iterator[Located]:
    root = Path(str(files("burnish"))) / folder
    return (each for each in _inside(root, prefix="", provider="burnish") if only in (None, each.name))


def _plugged(name: str, registry: Registry) -> Iterator[Located]:
    """Look only into the plug-in that the name begins with: a broken one must not break the others."""
    for point in registry.entry_points("experiments"):
        if name.partition("/")[0] == point.name:
            yield from (each for each in _of_entry_point(point) if each.name == name)


def _of_entry_point(point: EntryPoint) -> Iterator[Located]:
    try:
        target = point.load()
    except Exception as error:  # a plug-in may fail in any way; it must break only who asked for it
        raise _refusal(
            f"the experiments of {_provider(point)} cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    directory = Path(str(files(target))) if isinstance(target, ModuleType) else Path(str(target))
    if not directory.is_dir():
        raise _refusal(f"the experiments of {_provider(point)} cannot be loaded: {point.value} is not a directory")
    return _inside(directory, prefix=f"{point.name}/", provider=_provider(point))


def _inside(root: Path, *, prefix: str, provider: str) -> Iterator[Located]:
    for path in sorted(root.rglob("*.yaml")):
        name = prefix + path.relative_to(root).with_suffix("").as_posix()
        yield Located(name, f"{name}.yaml", path, provider)


def _list(located: Located) -> ExperimentListing:
    try:
        node = read_file(located.path, source=located.source).nodes.get("description")
        description = (node.value or "") if isinstance(node, Leaf) else ""
    except ConfigError as error:
        description = error.problems[0].message
    return ExperimentListing(located.name, description, located.provider, located.path)


def _provider(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module.partition(".")[0]


def _refusal(sentence: str) -> ConfigError:
    return ConfigError([Problem(sentence)], subject="the request")
