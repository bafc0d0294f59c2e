"""Loads an experiment: layers in, a checked value out, with the origin of each of its parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.config.decode import Incomplete, decode
from burnish.config.given import Given
from burnish.config.layering import defaults_layer, merge, normalise
from burnish.config.locate import locate
from burnish.config.nodes import Branch, Leaf, find, read_path
from burnish.config.origins import DEFAULT, Origin
from burnish.config.sources import layers
from burnish.config.trust import is_trusted, remember
from burnish.errors import ConfigError, Problem, UntrustedCode
from burnish.registry import ForeignCode, Registry, default_registry
from burnish.spec.experiment import Experiment


@dataclass(frozen=True)
class Resolved:
    """An experiment and the tree it was read from."""

    experiment: Experiment
    tree: Branch
    registry: Registry

    def origin(self, path: str) -> Origin:
        """Say where the value at a path came from."""
        parts = read_path(path)
        for end in range(len(parts), 0, -1):
            node = find(self.tree, parts[:end])
            if node is not None:
                is_whole = end == len(parts) or isinstance(node, Leaf)
                return node.origin if is_whole else DEFAULT
        return DEFAULT


class Unsound(ConfigError):
    """Refuse an experiment, with what of it could be read."""

    def __init__(self, problems: Sequence[Problem], part: Resolved, missing: Sequence[str]) -> None:
        super().__init__(problems)
        self.part = part
        self.missing = tuple(missing)
        """The sections that could not; nothing may be asked of them."""


def load(
    name: str | Given,
    *,
    configs: Sequence[str] = (),
    measured: Sequence[str] = (),
    overrides: Sequence[str | Branch] = (),
    registry: Registry | None = None,
    trust_code: bool | None = None,
) -> Resolved:
    """Resolve an experiment by name or path, or one given as values; raise one ConfigError with every problem.

    What a run or an artifact recorded is refused if it leads to code, unless this user trained with it or says
    `trust_code`; None where there is no way to say so.
    """
    registry = registry or default_registry()
    stack = layers(name, configs=configs, measured=measured, overrides=overrides, registry=registry)
    files = [] if isinstance(name, Given) else [locate(name, registry=registry).path]
    files += map(Path, configs)
    strange = [] if trust_code else [path for path in files if not is_trusted(path)]
    try:
        return resolve(stack, registry=registry.guarded() if strange else registry)
    except ForeignCode as error:
        raise UntrustedCode(_refusal(strange[0], error.code, can_say=trust_code is not None)) from error


def trust(config: Path) -> None:
    """Remember a config that a run of this user has just recorded, if it leads to code."""
    try:
        load(str(config))
    except UntrustedCode as error:
        remember(config, str(error))


def _refusal(path: Path, code: Sequence[str], *, can_say: bool) -> str:
    how = "add --trust-code (in Python, trust_code=True)" if can_say else "copy that file and name your copy instead"
    return (
        f"{path} names code that would run here, and you did not train with it on this machine: {'; '.join(code)}. "
        f"If you know this code and trust the author of the file, {how}"
    )


def resolve(stack: Sequence[Branch], *, registry: Registry) -> Resolved:
    """Merge layers, lowest first, above the defaults of the task they name, and decode the result."""
    defaults = defaults_layer(_merge_layers(stack, registry), registry=registry)
    tree = _merge_layers([defaults, *stack], registry)
    try:
        return Resolved(decode(tree, registry=registry), tree, registry)
    except Incomplete as error:
        part = Resolved(Experiment.model_construct(**error.sound), tree, registry)
        raise Unsound(error.problems, part, _missing(error.sound, tree)) from error


def _merge_layers(stack: Sequence[Branch], registry: Registry) -> Branch:
    tree = Branch({}, DEFAULT)
    for layer in stack:
        tree = merge(tree, normalise(layer, tree, root=Experiment, registry=registry))
    return tree


def _missing(sound: Mapping[str, Any], tree: Branch) -> list[str]:
    """Name the sections that were written or needed and did not come to a value."""
    fields = Experiment.model_fields.items()
    return [name for name, field in fields if name not in sound and (name in tree.nodes or field.is_required())]
