"""Finds a component by kind and name: ours, a plug-in's, or a full address."""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from burnish.catalog import CATALOG, MOVED, Entry
from burnish.errors import BurnishError, ConfigError, Problem
from burnish.nearest import nearest
from burnish.spec import protocols
from burnish.spec.component import Component, add_defaults, required_members
from burnish.spec.launcher import Launcher
from burnish.spec.news import Notifier
from burnish.spec.own_loss import OwnLoss
from burnish.spec.row_format import RowFormat
from burnish.spec.search import Searcher

EntryPoints = Callable[[str], Iterable[EntryPoint]]
"""Finds the entry points of a group, without importing what they point to."""

_ADDRESS = re.compile(r"[\w.]+:[A-Za-z_]\w*")
_NOUNS = {"data": "data source"}
_PROTOCOLS: Mapping[str, type[Any]] = {
    "tasks": protocols.Task,
    "data": protocols.DataSource,
    "models": protocols.Architecture,
    "truncations": protocols.Truncation,
    "optimizers": protocols.Optimizer,
    "schedules": protocols.Schedule,
    "metrics": protocols.Metric,
    "objectives": OwnLoss,
    "trackers": protocols.Tracker,
    "notifiers": Notifier,
    "formats": RowFormat,
    "searchers": Searcher,
    "launchers": Launcher,
}
_INSTEAD: Mapping[str, type[Any]] = {"tasks": protocols.Joint, "data": protocols.Sets}
"""What may stand in the place of a kind: several of them."""


@dataclass(frozen=True)
class Listing:
    """A name of one kind, who provides it and where it lives."""

    name: str
    provider: str
    address: str
    aliases: tuple[str, ...] = ()


class ForeignCode(ConfigError):
    """Refuse addresses that nobody installed under a name; `code` says where each was written."""

    def __init__(self, code: Sequence[str]) -> None:
        super().__init__([Problem(each) for each in code])
        self.code = tuple(code)


@lru_cache(maxsize=1)
def default_registry() -> "Registry":
    """Build the registry of this Python environment."""
    return Registry()


class Registry:
    """Map kind and name to a class; know every name without importing anything."""

    def __init__(
        self,
        *,
        entry_points: EntryPoints | None = None,
        catalog: Mapping[str, Mapping[str, Entry]] = CATALOG,
    ) -> None:
        self._catalog = catalog
        self.is_guarded = False
        """Whether only what is installed under a name may be imported, and no address that a config makes up."""
        found = entry_points or _installed_entry_points()
        self._entry_points = lru_cache(maxsize=None)(lambda group: tuple(found(group)))
        self._names = lru_cache(maxsize=None)(self._list)

    def guarded(self) -> "Registry":
        """Copy the registry for a config that is not to be trusted."""
        guarded = copy(self)
        guarded.is_guarded = True
        return guarded

    def kinds(self) -> list[str]:
        """List the kinds of component that Burnish itself provides."""
        return list(self._catalog)

    def entry_points(self, group: str) -> tuple[EntryPoint, ...]:
        """Find the entry points of `burnish.<group>`."""
        return tuple(self._entry_points(f"burnish.{group}"))

    def names(self, kind: str) -> list[Listing]:
        """List every name of a kind with its provider; ours first."""
        return list(self._names(kind))

    def knows(self, kind: str, name: str) -> bool:
        """Tell whether someone provides this name, or it is a full address."""
        return bool(self._providers(kind, name)) or is_address(name)

    def canonical(self, kind: str, name: str) -> str:
        """Find the one name that an alias or address stands for; an unknown name stands for itself."""
        found = self._providers(kind, name) or [each for each in self._names(kind) if each.address == name]
        return found[0].name if found else name

    def load(self, kind: str, name: str) -> type[Component]:
        """Import the class behind a name; raise ConfigError with a sentence if that cannot be done or may not be."""
        address = self._address(kind, name)
        what = f"{_noun(kind)} '{name}'"
        module, _, attribute = address.partition(":")
        try:
            found: object = import_module(module)
            for part in attribute.split(".") if attribute else ():
                found = getattr(found, part)
        except BurnishError:
            raise
        except Exception as error:  # a plug-in may fail in any way; it must break only who asked for it
            sentence = f"the {what} could not be imported from {address}: {type(error).__name__}: {error}"
            raise _refusal(f"{sentence}{_where_to_look(error, module)}") from error
        cls = found
        if not (isinstance(cls, type) and issubclass(cls, Component)):
            raise _refusal(f"{address} is not a component: it must be a class that derives from Component")
        lacking = _lacking_of(_PROTOCOLS.get(kind), cls)
        instead = _INSTEAD.get(kind)
        lacking = [] if instead is not None and not _lacking_of(instead, cls) else lacking
        if lacking:
            raise _refusal(f"{address} is no {_noun(kind)}: it lacks {', '.join(f'`{each}`' for each in lacking)}")
        if kind in _PROTOCOLS:
            add_defaults(cls, _PROTOCOLS[kind])
        return cls

    def name_of(self, kind: str, cls: type) -> str:
        """Find the canonical name of a class; its address if nobody lists it."""
        for listing in self._names(kind):
            if _is_behind(listing.address, cls) and len(self._providers(kind, listing.name)) == 1:
                return listing.name
        return f"{cls.__module__}:{cls.__qualname__}"

    def summary(self, kind: str, name: str) -> str:
        """Read the first line of a component's docstring; imports its module."""
        return next(iter((self.load(kind, name).__doc__ or "").strip().splitlines()), "")

    def _list(self, kind: str) -> tuple[Listing, ...]:
        ours = [
            Listing(name, "burnish", entry.address, entry.aliases)
            for name, entry in self._catalog.get(kind, {}).items()
        ]
        theirs = (Listing(point.name, _provider(point), point.value) for point in self.entry_points(kind))
        return tuple(dict.fromkeys([*ours, *theirs]))  # the same distribution found twice on the path is no clash

    def _providers(self, kind: str, name: str) -> list[Listing]:
        name = MOVED.get(name, name)
        return [each for each in self._names(kind) if name == each.name or name in each.aliases]

    def _address(self, kind: str, name: str) -> str:
        found = self._providers(kind, name)
        if len(found) > 1:
            places = " and ".join(f"{each.provider} ({each.address})" for each in found)
            raise _refusal(f"the {_noun(kind)} '{name}' is provided twice, by {places}; write the address you mean")
        if found:
            return found[0].address
        if is_address(name):
            if self.is_guarded and all(each.address != name for each in self._names(kind)):
                raise ForeignCode([name])
            return name
        listings = self._names(kind)
        close = nearest(name, (word for each in listings for word in (each.name, *each.aliases)))
        names = ", ".join(each.name for each in listings) or "none"
        hint = f"Did you mean `{close}`?" if close else f"Known are {names}."
        raise _refusal(f"no {_noun(kind)} is called '{name}'. {hint}")


def _installed_entry_points() -> EntryPoints:
    # One look at every installed package, for all groups: to ask group by group would look at them all each time.
    look = lru_cache(maxsize=1)(entry_points)
    return lambda group: look().select(group=group)


def is_address(text: str) -> bool:
    """Tell whether a text is `module:attribute`; `package:` begins a location, never an address."""
    return _ADDRESS.fullmatch(text) is not None and not text.startswith("package:")


def _where_to_look(error: Exception, module: str) -> str:
    """Say where modules are sought, if it is the module itself that was not found."""
    if not (isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]):
        return ""
    return "; it must lie in the folder that burnish is started from, on PYTHONPATH, or be installed"


def _lacking_of(protocol: type[Any] | None, cls: type[Component]) -> list[str]:
    members = required_members(protocol) if protocol else frozenset()  # type: ignore[arg-type]  # a class is hashable
    return sorted(each for each in members if each not in cls.model_fields and not _has(cls, each))


def _has(cls: type, member: str) -> bool:
    return hasattr(cls, member) and not getattr(getattr(cls, member), "__isabstractmethod__", False)


def _is_behind(address: str, cls: type) -> bool:
    """Tell whether an address leads to this class, looking only at what is imported already."""
    module, _, attribute = address.partition(":")
    return getattr(sys.modules.get(module), attribute, None) is cls


def _provider(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value.partition(":")[0].partition(".")[0]


def _noun(kind: str) -> str:
    return _NOUNS.get(kind, kind.removesuffix("s"))


def _refusal(sentence: str) -> ConfigError:
    return ConfigError([Problem(sentence)])
