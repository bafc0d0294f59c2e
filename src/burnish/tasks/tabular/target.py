"""The target of a table: its classes, or a number on the scale that a network learns best, and back again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from pydantic import TypeAdapter

from burnish.spec.values import Array, Profile, RowFault
from burnish.tasks.labels import LabelColumns

Transform = Literal["none", "log", "log1p"]
TARGET = "target"
"""Where a profile keeps the scale of its target."""
_DIGITS = 12
"""Digits of a truth that survive being scaled and scaled back."""

_FORWARD: "Mapping[str, Callable[[Array], Array]]" = {"none": np.asarray, "log": np.log, "log1p": np.log1p}
_BACK: "Mapping[str, Callable[[Array], Array]]" = {"none": np.asarray, "log": np.exp, "log1p": np.expm1}
_LOWEST = {"log": 0.0, "log1p": -1.0}


@dataclass(frozen=True)
class Measure:
    """How numbers of the target become what a network is taught, and how its answers become such numbers."""

    transform: Transform = "none"
    centre: float = 0.0
    spread: float = 1.0
    link: Literal["identity", "log"] = "identity"
    """With `log`, the network gives the logarithm of what it is taught (Poisson, Gamma)."""

    @classmethod
    def of(cls, values: "Array", *, transform: Transform, link: str) -> "Measure":
        """Choose centre and spread from the training rows: sorted first, so that their order does not show."""
        ordered = np.sort(_FORWARD[transform](values))
        if link == "log":
            return cls("none", 0.0, float(ordered.mean()) or 1.0, "log")
        return cls(transform, float(ordered.mean()), float(ordered.std()) or 1.0)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Measure":
        """Rebuild what `to_json` gave; raise ValueError for anything else."""
        return _adapter().validate_python(values)

    @classmethod
    def of_profile(cls, profile: Profile) -> "Measure":
        """Take it out of a profile; one without any leaves numbers as they are."""
        return cls.from_json(profile.facts.get(TARGET, {}))

    def to_json(self) -> dict[str, Any]:
        """Give plain values, for the profile."""
        return asdict(self)

    def taught(self, values: "Array") -> "Array":
        """Put numbers of the target on the network's scale."""
        return np.asarray((_FORWARD[self.transform](values) - self.centre) / self.spread)

    def truth(self, taught: "Array") -> "Array":
        """Put what was taught back, without the dust of scaling to and fro."""
        values = _BACK[self.transform](taught * self.spread + self.centre)
        with np.errstate(divide="ignore", invalid="ignore"):
            size = 10.0 ** (_DIGITS - np.ceil(np.log10(np.abs(values))))
            rounded = np.round(values * size) / np.where(size > 0, size, 1)
        return np.where(np.isfinite(size) & (values != 0), rounded, values)

    def answers(self, outputs: "Array") -> "Array":
        """Put a network's outputs into the user's unit."""
        # An exponent beyond this overflows; a network that says so is far off already.
        linked = np.exp(np.clip(outputs, -80, 80)) if self.link == "log" else outputs
        return _BACK[self.transform](linked * self.spread + self.centre)


@cache
def _adapter() -> TypeAdapter[Measure]:
    return TypeAdapter(Measure)


def read_numbers(table: pa.Table, name: str, *, transform: str, loss: str) -> "tuple[Array, list[RowFault]]":
    """Give a numeric target and the rows whose value cannot be learned."""
    values, faults = LabelColumns((name,)).numbers(table)
    faults = of_target(faults, name)
    wrong = _out_of_range(values, transform=transform, loss=loss)
    told = {fault.row for fault in faults}
    why = f"task.transform: {transform}" if transform in _LOWEST else f"task.loss: {loss}"
    faults += [
        RowFault(int(row), f"target {name} is {values[row]:g}, which {why} cannot take")
        for row in np.flatnonzero(wrong)
        if int(row) not in told
    ]
    return values, faults


def of_target(faults: Sequence[RowFault], name: str) -> list[RowFault]:
    """Name the column in what is said of labels."""
    return [RowFault(fault.row, fault.what.replace("label", f"target {name}", 1)) for fault in faults]


def _out_of_range(values: "Array", *, transform: str, loss: str) -> "Array":
    if transform in _LOWEST:
        return values <= _LOWEST[transform]
    if loss == "gamma":
        return values <= 0
    return values < 0 if loss == "poisson" else np.zeros(len(values), bool)
