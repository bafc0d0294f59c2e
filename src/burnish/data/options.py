"""The options that every data source shares: portions, how to split, how many rows to take."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, BeforeValidator, PositiveInt

from burnish.spec.component import Component
from burnish.spec.interval import TextValue

NAMES = ("train", "validation", "test")
_KNOWN = ", ".join(NAMES)
T = TypeVar("T")
AuditLevel = Literal["off", "warn", "error"]
_WANTED = 'must be a share like "10%" or 0.1, or a number of rows like 500'


@dataclass(frozen=True)
class Portion(TextValue):
    """A part of the rows: a share between 0 and 1, or a number of them, like "10%", 0.1 or 500."""

    examples = ("10%", 0.1, 500)

    amount: float

    @classmethod
    def parse(cls, written: object) -> Self:
        if not isinstance(written, str | int | float) or isinstance(written, bool):
            raise ValueError(_WANTED)
        text = str(written).strip()
        try:
            amount = float(text.removesuffix("%").replace("_", "")) / (100 if text.endswith("%") else 1)
        except ValueError:
            raise ValueError(_WANTED) from None
        if text.endswith("%") and not 0 < amount < 1:
            raise ValueError(f"{_WANTED}; a share is more than 0% and less than 100%")
        if not (0 < amount < 1 or (amount >= 1 and amount.is_integer())):
            raise ValueError(_WANTED)
        return cls(amount)

    def of(self, total: int) -> int:
        """Tell how many rows this is, at least one."""
        return max(1, round(self.amount * total)) if self.amount < 1 else int(self.amount)

    def __str__(self) -> str:
        if self.amount >= 1:
            return str(int(self.amount))
        percent = f"{self.amount * 100:.10g}"
        return f"{percent}%" if float(percent) / 100 == self.amount else repr(self.amount)


def _further(value: Mapping[str, T]) -> Mapping[str, T]:
    odd = [name for name in value if not name.isidentifier() or name in NAMES]
    if odd:
        raise ValueError(
            f"names an additional set {odd[0]!r}; a name is a word like validation_de, and none of {_KNOWN}"
        )
    return value


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str | int | float) else value


def _texts(value: object) -> object:
    values = _as_tuple(value)
    if isinstance(values, list | tuple):
        return tuple(str(one).lower() if isinstance(one, bool) else str(one) for one in values)
    return values


Names = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
"""One name or several."""


def _check_condition(written: str) -> str:
    from burnish.data.columns.expression import parse

    parse(written)
    return written


Condition = Annotated[str, AfterValidator(_check_condition)]
Values = Annotated[tuple[str, ...], BeforeValidator(_texts)]
Filter = Mapping[str, Values] | Condition
"""Which rows are used: those with one of the values in each of these columns, or those of which a condition is true."""


def filter_columns(wanted: Filter) -> tuple[str, ...]:
    """Name the columns that a filter looks at."""
    if not isinstance(wanted, str):
        return tuple(wanted)
    from burnish.data.columns.expression import parse

    return parse(wanted).columns


def filter_of(data: object) -> Filter:
    """Give the filter of a source of data, which may stand inside of another; an empty one if it has none."""
    return getattr(getattr(data, "of", data), "filter", {})


"""One value or several, as text."""
FURTHER = AfterValidator(_further)
"""Checks the names of sets to score besides validation and test."""


class SplitPlan(Component):
    """How rows are divided when the files do not say."""

    validation: Portion | None = None
    """What to take of train for validation, like `10%` or 500; by default 10% when nothing else gives one."""
    test: Portion | None = None
    """What to take of train for test."""
    by: str | None = None
    """A column that names each row's split."""
    group: Names = ()
    """Columns whose rows belong together: no group is in two splits; a row without any is its own group."""


class Limit(Component):
    """At most so many rows a split: a seeded random choice, in file order; further sets are read whole."""

    shorthand = "train"

    train: PositiveInt | None = None
    validation: PositiveInt | None = None
    test: PositiveInt | None = None
