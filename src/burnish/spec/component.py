"""What every configurable thing is: a frozen value whose fields are its options."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, model_validator
from typing_extensions import get_protocol_members, is_protocol


class Component(BaseModel):
    """Be configured by fields and behave by methods; hold nothing else."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, arbitrary_types_allowed=True, allow_inf_nan=False
    )

    shorthand: ClassVar[str | None] = None
    """The field that a bare scalar fills: `batch: 32` means `batch: {examples: 32}`."""
    defaults: ClassVar[Mapping[str, Any]] = {}
    """What a task means where an experiment says nothing: sections as YAML has them, below every layer."""
    search_space: ClassVar[Mapping[str, Any]] = {}
    """What a study searches where nobody says: options of the experiment, written as in `tune.space`."""
    yields: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Options whose default from the task gives way once another is written: `examples` of a batch to `tokens`."""

    extras: ClassVar[tuple[str, ...]] = ()
    """Extras of Burnish that it cannot work without, or would leave something out."""

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        """List options that the others leave without effect: the path of each, or of a whole section, and why.

        `place` is how the options of this component begin; a component may name those of other sections as well.
        """
        return ()

    @model_validator(mode="after")
    def _fit_into_machine_words(self) -> Self:
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                raise ValueError(f"takes whole numbers below 2^63, and `{name}` is {Decimal(value).normalize():.4g}")
        return self


@dataclass(frozen=True)
class RunsCode:
    """Mark an option that makes code from outside run: an address of it, or leave to run what comes with a file."""


@dataclass(frozen=True)
class Slot:
    """Mark a field that takes any registered component of one kind, written as `type:` + options."""

    kind: str
    default: str | None = None


@cache
def required_members(protocol: type) -> frozenset[str]:
    """Name what a component of a kind must have: all of a protocol, and of a base class what it leaves open."""
    if is_protocol(protocol):
        return get_protocol_members(protocol)
    left_open = {name for name in protocol.__annotations__ if not hasattr(protocol, name)}
    return frozenset(left_open | getattr(protocol, "__abstractmethods__", frozenset()))


def add_defaults(cls: type, base: type) -> None:
    """Give a plug-in's class that does not derive from the base the usual answers to what it leaves open."""
    if base in cls.__mro__:
        return
    own = {*dir(cls), *getattr(cls, "model_fields", ()), *getattr(base, "__abstractmethods__", ())}
    for name in sorted(name for name in vars(base).keys() - own if not name.startswith("_")):
        setattr(cls, name, vars(base)[name])
