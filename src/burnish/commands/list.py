"""Lists what can be named in an experiment, with one line each and who provides it."""

from collections.abc import Iterator
from dataclasses import dataclass

from burnish.errors import BurnishError, ConfigError, Problem
from burnish.nearest import nearest
from burnish.registry import Listing, Registry, default_registry

EXPERIMENTS = "experiments"


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
    kinds = [EXPERIMENTS, *registry.kinds()]
    if kind is not None and kind not in kinds:
        raise _unknown(kind, kinds)
    return [item for each in ([kind] if kind else kinds) for item in _items(each, registry=registry)]


def _items(kind: str, *, registry: Registry) -> Iterator[Item]:
    if kind == EXPERIMENTS:
        from burnish.config import experiments

        for each in experiments():
            yield Item(kind, each.name, each.description, each.provider)
        return
    for found in registry.names(kind):
        yield Item(kind, found.name, _summary(kind, found, registry=registry), found.provider, found.aliases)


def _summary(kind: str, found: Listing, *, registry: Registry) -> str:
    try:
        return registry.summary(kind, found.name)
    except BurnishError as error:
        # a plug-in that cannot be imported must not take the list away from everybody else
        return f"(cannot be used: {_reason(error)})"


def _reason(error: BurnishError) -> str:
    return error.problems[0].message if isinstance(error, ConfigError) else str(error)


def _unknown(kind: str, kinds: list[str]) -> ConfigError:
    close = nearest(kind, kinds)
    hint = f"Did you mean `{close}`?" if close else f"Known are {', '.join(kinds)}."
    return ConfigError([Problem(f"no kind of component is called '{kind}'. {hint}")], subject="the command line")
