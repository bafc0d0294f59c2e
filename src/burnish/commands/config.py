"""List what can be named; show, explain, compare, describe and check experiments; nothing runs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.config import Given, OptionDifference, Resolved, Unsound, experiments, layers, load, render
from burnish.config import diff as differences
from burnish.config import schema as write_schema
from burnish.config.foreign import find_foreign
from burnish.config.nodes import Branch, write_path
from burnish.config.render import document, leaves, write_value
from burnish.data.codecs.columns import CONTENT_TYPES, FORMAT_NAMES
from burnish.errors import BurnishError, ConfigError, Problem
from burnish.nearest import nearest
from burnish.registry import Listing, Registry, default_registry
from burnish.run.check import problems

EXPERIMENTS, LAYERS = "experiments", "layers"
_MODELS, _PRETRAINED = "models", "pretrained"
_FORMATS = "formats"


@dataclass(frozen=True)
class Item:
    """A name that an experiment can use, what it is and who provides it."""

    kind: str
    name: str
    summary: str
    provider: str
    aliases: tuple[str, ...] = ()


def listing(kind: str | None = None, *, registry: Registry | None = None) -> list[Item]:
    """List one kind, or everything: experiments first, then components by kind."""
    registry = registry or default_registry()
    kinds = [EXPERIMENTS, LAYERS, *registry.kinds(), _PRETRAINED, _FORMATS]
    if kind is not None and kind not in kinds:
        close = nearest(kind, kinds)
        hint = f"Did you mean `{close}`?" if close else f"Known are {', '.join(kinds)}."
        raise ConfigError([Problem(f"no kind of component is called '{kind}'. {hint}")], subject="the command line")
    items = []
    if kind in (None, EXPERIMENTS):
        items += [Item(EXPERIMENTS, each.name, each.description, each.provider) for each in experiments()]
    if kind in (None, LAYERS):
        items += [Item(LAYERS, each.name, each.description, each.provider) for each in layers()]
    if kind in (None, _FORMATS):
        items += [_describe_format(name) for name in FORMAT_NAMES]
    for each in [each for each in kinds[2:] if kind in (None, each)]:
        items += [_describe(each, found, registry) for found in registry.names(each)]
    if kind in (_MODELS, _PRETRAINED):
        items += _list_pretrained()
    return items


def _list_pretrained() -> list[Item]:
    """List what `model.name` can say without the network."""
    from burnish.models.transformers.models_here import find_models_here

    return [Item(_PRETRAINED, model.name, model.summary, model.place) for model in find_models_here()]


def _describe_format(name: str) -> Item:
    types = [each for each, format in CONTENT_TYPES.items() if format == name]
    return Item(_FORMATS, name, ", ".join(types) or "for `predict --format`", "burnish")


def _describe(kind: str, found: Listing, registry: Registry) -> Item:
    try:
        summary = registry.summary(kind, found.name)
    except BurnishError as error:
        # a plug-in that cannot be imported must not take the list away from everybody else
        reason = error.problems[0].message if isinstance(error, ConfigError) else str(error)
        summary = f"(cannot be used: {reason})"
    return Item(kind, found.name, summary, found.provider, found.aliases)


def show(
    name: str,
    *,
    configs: Sequence[str] = (),
    overrides: Sequence[str] = (),
    origins: bool = False,
    registry: Registry | None = None,
) -> str:
    """Write an experiment as canonical YAML; with `origins`, say where each value came from."""
    resolved = load(name, configs=configs, overrides=overrides, registry=registry)
    return render(resolved.experiment, origin=resolved.origin if origins else None, registry=registry)


def why(
    key: str,
    name: str,
    *,
    configs: Sequence[str] = (),
    overrides: Sequence[str] = (),
    registry: Registry | None = None,
) -> list[str]:
    """Explain where an option's value came from, newest first; for a section, each of its options."""
    resolved = load(name, configs=configs, overrides=overrides, registry=registry)
    values = {write_path(path): value for path, value in leaves(document(resolved.experiment, registry=registry))}
    chosen = [path for path in values if path == key or path.startswith((f"{key}.", f"{key}["))]
    if not chosen:
        paths = list(values)
        sections = {path[: match.start()] for path in paths for match in re.finditer(r"[.\[]", path)}
        same = next((path for path in paths if path.endswith(f".{key}")), None)
        entry = find_foreign(key)
        theirs = next((each for each in entry.ours if each in {*paths, *sections}), None) if entry else None
        close = same or theirs or nearest(key, [*paths, *sorted(sections)])
        hint = f"Did you mean `{close}`?" if close else f"Options are {', '.join(paths)}."
        raise ConfigError([Problem(f"{key}: no such option. {hint}")], subject="the request")
    return [line for path in chosen for line in _explain(path, values[path], resolved)]


def diff(left: str, right: str, *, registry: Registry | None = None) -> list[OptionDifference]:
    """Compare two experiments, each a name, a YAML file or a run directory."""
    ours, theirs = (load(each, registry=registry).experiment for each in (left, right))
    return differences(ours, theirs, registry=registry)


def schema(*, registry: Registry | None = None) -> dict[str, Any]:
    """Write the JSON Schema of every option, for editors."""
    return write_schema(registry=registry)


def check(
    name: str | Path | Given,
    *,
    configs: Sequence[str | Path] = (),
    measured: Sequence[str] = (),
    overrides: Sequence[str | Branch] = (),
    registry: Registry | None = None,
    trust_code: bool | None = None,
    has_inputs: bool = False,
) -> Resolved:
    """Resolve an experiment and see that its parts fit together, or raise one ConfigError with every problem.

    With `has_inputs`, see also that the files, their columns, the model and the device are there.
    """
    try:
        resolved = load(
            name if isinstance(name, Given) else str(name),
            configs=[str(each) for each in configs],
            measured=measured,
            overrides=overrides,
            registry=registry,
            trust_code=trust_code,
        )
    except Unsound as error:
        raise ConfigError([*error.problems, *problems(error.part, missing=error.missing)]) from error
    found = problems(resolved)
    if has_inputs:
        from burnish.run.check import absent_inputs  # not for who only asks about options to wait for

        found += absent_inputs(resolved)
    if found:
        raise ConfigError(found)
    return resolved


def _explain(path: str, value: object, resolved: Resolved) -> list[str]:
    origin = resolved.origin(path)
    return [f"{path} = {write_value(value)}", *(f"  {line}" for line in origin.lines() or [str(origin)])]
