"""What was learned of a table's columns, as plain values: enough to encode any row later, and JSON all through."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from burnish.spec.values import TableInputs

MISSING_ID, UNSEEN_ID, FIRST_ID = 0, 1, 2


@dataclass(frozen=True)
class ColumnPlan:
    """How a column is read, and what the training rows held in it."""

    name: str
    kind: str
    """number, category, boolean, datetime, hash or identity."""
    default: str | None = None
    """What stands in for a missing value, if the user said so."""
    fill: float | None = None
    """What stands in for a missing number or time."""
    vocabulary: tuple[str, ...] = ()
    size: int = 0
    """Buckets of a hash, or the range of an identity."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Statistics of the training rows: missing, unreadable, infinite, distinct, mean …"""
    is_guessed: bool = False
    """Whether the kind was not stated: then a few cells that are of another kind are missing, and not at fault."""

    @property
    def cardinality(self) -> int:
        """Count the ids of a category, with those for missing and unseen."""
        return FIRST_ID + (len(self.vocabulary) or self.size)


@dataclass(frozen=True)
class Scaling:
    """A monotone map of a number: `(value - centre) / spread`, after a log or through quantiles if it says so."""

    how: str = "none"
    centre: float = 0.0
    spread: float = 1.0
    points: tuple[float, ...] = ()
    """Quantiles of the training rows, for `quantile`."""


@dataclass(frozen=True)
class NumberPlan:
    """One of the numbers that a network is fed."""

    name: str
    column: str
    part: str = "value"
    """value, missing (1 where it is), or a part of a time such as hour, hour_sin and hour_cos."""
    scaling: Scaling = Scaling()
    edges: tuple[float, ...] = (0.0, 1.0)


@dataclass(frozen=True)
class WidePlan:
    """One column of ids in the wide numbering: a category, the buckets of a number, or a cross of such."""

    columns: tuple[str, ...]
    size: int
    offset: int
    boundaries: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """For the numbers among the columns, where they are cut."""


@dataclass(frozen=True)
class TablePlan:
    """All that turns rows into features."""

    columns: tuple[ColumnPlan, ...]
    numbers: tuple[NumberPlan, ...]
    wide: tuple[WidePlan, ...]
    dropped: Mapping[str, str] = field(default_factory=dict)
    """Columns that are not used, and why."""

    @property
    def categories(self) -> tuple[ColumnPlan, ...]:
        """Give the columns that are read as ids."""
        return tuple(column for column in self.columns if column.kind not in ("number", "datetime"))

    @property
    def inputs(self) -> TableInputs:
        """Tell a network what it is fed."""
        return TableInputs(
            numbers=tuple(number.name for number in self.numbers),
            edges=tuple(number.edges for number in self.numbers),
            categories=tuple(column.name for column in self.categories),
            cardinalities=tuple(column.cardinality for column in self.categories),
            wide_size=1 + sum(wide.size for wide in self.wide) if self.wide else 0,
        )

    @property
    def digest(self) -> str:
        """Tell plans apart that encode rows differently."""
        values = self.to_json()
        for column in values["columns"]:
            del column["is_guessed"]  # decides which rows are refused, and not how a row is encoded
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Give plain values, for the profile."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "TablePlan":
        """Rebuild what `to_json` wrote, be it read from a file or not."""
        return cls(
            columns=tuple(
                ColumnPlan(**{**each, "vocabulary": tuple(each["vocabulary"])}) for each in values["columns"]
            ),
            numbers=tuple(_number(each) for each in values["numbers"]),
            wide=tuple(_wide(each) for each in values["wide"]),
            dropped=dict(values["dropped"]),
        )


def _number(values: Mapping[str, Any]) -> NumberPlan:
    scaling = Scaling(**{**values["scaling"], "points": tuple(values["scaling"]["points"])})
    return NumberPlan(**{**values, "scaling": scaling, "edges": tuple(values["edges"])})


def _wide(values: Mapping[str, Any]) -> WidePlan:
    boundaries = {name: tuple(cuts) for name, cuts in values["boundaries"].items()}
    return WidePlan(**{**values, "columns": tuple(values["columns"]), "boundaries": boundaries})
