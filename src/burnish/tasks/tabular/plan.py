"""What was learned of a table's columns, as plain values: enough to encode any row later, and JSON all through."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, Field, TypeAdapter

from burnish.data.columns.datetimes import CompactForm
from burnish.spec.parts import Statistics
from burnish.spec.values import TableInputs

MISSING_ID, UNSEEN_ID, FIRST_ID = 0, 1, 2
_KINDS = "^(number|category|boolean|datetime|hash|identity)$"
_PARTS = "^(value|missing|year|minute|elapsed|(hour|weekday|day|month|day_of_year)(_sin|_cos)?)$"
_Count = Annotated[int, Field(ge=0, lt=2**63)]
_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


def _check_statistics(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    TypeAdapter(Statistics).validate_python(facts)
    return facts


@dataclass(frozen=True)
class ColumnPlan:
    """How a column is read, and what the training rows held in it."""

    name: str
    kind: Annotated[str, Field(pattern=_KINDS)]
    """number, category, boolean, datetime, hash or identity."""
    default: str | None = None
    """What stands in for a missing value, if the user said so."""
    fill: _Number | None = None
    """What stands in for a missing number or time."""
    vocabulary: tuple[str, ...] = ()
    size: _Count = 0
    """Buckets of a hash, or the range of an identity."""
    facts: Annotated[Mapping[str, Any], AfterValidator(_check_statistics)] = field(default_factory=dict)
    """Statistics of the training rows: missing, unreadable, infinite, distinct, mean …"""
    day_first: bool = False
    """Whether 3/4/2024 is the third of April."""
    compact: CompactForm = ""
    """How dates are written as bare numbers; by default such numbers are seconds since 1970."""
    is_guessed: bool = False
    """Whether the kind was not stated: then a few cells that are of another kind are missing, and not at fault."""

    @property
    def cardinality(self) -> int:
        """Count the ids of a category, with those for missing and unseen."""
        return FIRST_ID + (len(self.vocabulary) or self.size)


@dataclass(frozen=True)
class Scaling:
    """A monotone map of a number: `(value - centre) / spread`, after a log or through quantiles if it says so."""

    how: Annotated[str, Field(pattern="^(none|zscore|log|quantile)$")] = "none"
    centre: _Number = 0.0
    spread: _Number = 1.0
    points: tuple[_Number, ...] = ()
    """Quantiles of the training rows, for `quantile`."""


@dataclass(frozen=True)
class NumberPlan:
    """One of the numbers that a network is fed."""

    name: str
    column: str
    part: Annotated[str, Field(pattern=_PARTS)] = "value"
    """value, missing (1 where it is), or a part of a time such as hour, hour_sin and hour_cos."""
    scaling: Scaling = Scaling()
    edges: tuple[_Number, ...] = (0.0, 1.0)


@dataclass(frozen=True)
class WidePlan:
    """One column of ids in the wide numbering: a category, the buckets of a number, or a cross of such."""

    columns: Annotated[tuple[str, ...], Field(min_length=1)]
    size: _Count
    offset: _Count
    boundaries: Mapping[str, tuple[_Number, ...]] = field(default_factory=dict)
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
        """The columns that are read as ids."""
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
            if not column["day_first"]:
                del column["day_first"]  # earlier versions knew no other order, and their features serve on
            if not column["compact"]:
                del column["compact"]
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return plain values, for the profile."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "TablePlan":
        """Rebuild what `to_json` wrote; raise ValueError for what it cannot have written."""
        plan = _adapter().validate_python(values)
        known = {column.name for column in plan.columns}
        named = {number.column for number in plan.numbers} | {name for wide in plan.wide for name in wide.columns}
        if not named <= known:
            raise ValueError(f"the plan of a table uses columns that it does not describe: {', '.join(named - known)}")
        if any(each.scaling.how == "quantile" and not each.scaling.points for each in plan.numbers):
            raise ValueError("the plan of a table scales by quantiles, and has none")
        return plan


@cache
def _adapter() -> TypeAdapter[TablePlan]:
    return TypeAdapter(TablePlan)
