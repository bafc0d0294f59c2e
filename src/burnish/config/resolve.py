"""Loads an experiment: layers in, a checked value out, with the origin of each of its parts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from burnish.config.decode import Incomplete, decode, decode_section
from burnish.config.given import Given
from burnish.config.layering import defaults_layer, merge, normalise, spread_keys
from burnish.config.locate import locate, locate_layer
from burnish.config.nodes import Branch, Leaf, find, read_path
from burnish.config.origins import DEFAULT, Origin
from burnish.config.sources import layers
from burnish.config.trust import is_trusted, remember
from burnish.errors import ConfigError, Problem, UntrustedCode
from burnish.registry import ForeignCode, Registry, default_registry
from burnish.spec.component import Component
from burnish.spec.experiment import Experiment

ASIDE = ("tune",)
"""Sections that a config may have and that are no part of an experiment: other verbs read them."""

_Loaded = TypeVar("_Loaded")
_Section = TypeVar("_Section", bound=Component)


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
    read = partial(resolve, stack)
    return _guard(read, name, configs=configs, registry=registry, trust_code=trust_code)


@dataclass(frozen=True)
class LoadedSection(Generic[_Section]):
    """A section that stands beside the experiment: its value, its tree with the origins, and what is wrong with it."""

    value: _Section | None
    tree: Branch
    problems: tuple[Problem, ...] = ()


def load_section(
    key: str,
    root: type[_Section],
    name: str | Given,
    *,
    configs: Sequence[str] = (),
    overrides: Sequence[str | Branch] = (),
    registry: Registry | None = None,
    trust_code: bool | None = None,
) -> LoadedSection[_Section]:
    """Read a section that is set aside from the experiment in every layer; its problems are the caller's to report."""
    registry = registry or default_registry()
    stack = layers(name, configs=configs, overrides=overrides, registry=registry)
    written = [spread_keys(node) for layer in stack if (node := layer.nodes.get(key)) is not None]
    wrong = [node for node in written if not isinstance(node, Branch)]
    if wrong:
        raise ConfigError([Problem(f"{key} must be a section of options", node.origin.lines()) for node in wrong])

    def read(*, registry: Registry) -> LoadedSection[_Section]:
        tree = Branch({}, DEFAULT)
        for node in written:
            assert isinstance(node, Branch)  # refused above
            tree = merge(tree, normalise(node, tree, root=root, registry=registry))
        try:
            return LoadedSection(decode_section(root, tree, key=key, registry=registry), tree)
        except ForeignCode:
            raise
        except ConfigError as error:
            return LoadedSection(None, tree, error.problems)

    return _guard(read, name, configs=configs, registry=registry, trust_code=trust_code)


def _guard(
    read: Callable[..., _Loaded],
    name: str | Given,
    *,
    configs: Sequence[str],
    registry: Registry,
    trust_code: bool | None,
) -> _Loaded:
    """Read what layers say; let no file that this user did not train with lead to code."""
    files = [] if isinstance(name, Given) else [locate(name, registry=registry).path]
    files += [locate_layer(str(config), registry=registry).path for config in configs]
    strange = [] if trust_code else [path for path in files if not is_trusted(path)]
    try:
        return read(registry=registry.guarded() if strange else registry)
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
    stack = [
        replace(layer, nodes={key: node for key, node in layer.nodes.items() if key not in ASIDE}) for layer in stack
    ]
    defaults = defaults_layer(_merge_layers(stack, registry), registry=registry)
    tree = _merge_layers([defaults, *stack], registry)
    try:
        return Resolved(decode(tree, registry=registry), tree, registry)
    except Incomplete as error:
        part = Resolved(Experiment.model_construct(**error.sound), tree, registry)
        raise Unsound(error.problems, part, _missing(error.sound, tree)) from error


def resolve_as(root: type[Component], stack: Sequence[Branch], *, subject: str) -> Any:
    """Merge layers of options that are no experiment, and decode them; raise one ConfigError with every problem."""
    registry = default_registry()
    try:
        return decode(_merge_layers(stack, registry, root), registry=registry, root=root)
    except Incomplete as error:
        raise ConfigError(error.problems, subject=subject) from error


def _merge_layers(stack: Sequence[Branch], registry: Registry, root: type[Component] = Experiment) -> Branch:
    tree = Branch({}, DEFAULT)
    for layer in stack:
        tree = merge(tree, normalise(layer, tree, root=root, registry=registry))
    return tree


def _missing(sound: Mapping[str, Any], tree: Branch) -> list[str]:
    """Name the sections that were written or needed and did not come to a value."""
    fields = Experiment.model_fields.items()
    return [name for name, field in fields if name not in sound and (name in tree.nodes or field.is_required())]
