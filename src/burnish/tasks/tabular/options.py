"""What a user may state of a table: each column's kind and treatment, crosses, derived columns."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt, field_validator, model_validator

from burnish.data.columns.expression import parse
from burnish.spec.component import Component, RunsCode

Kind = Literal["auto", "number", "category", "boolean", "datetime", "hash", "identity", "drop"]
Scale = Literal["zscore", "robust", "quantile", "log", "none"]
Part = Literal["elapsed", "year", "month", "day", "day_of_year", "weekday", "hour", "minute"]
Reading = Literal["number", "text", "time"]

_OWN = {
    "normalise": ("number",),
    "mean": ("number",),
    "variance": ("number",),
    "boundaries": ("number",),
    "vocabulary": ("category",),
    "min_count": ("category",),
    "max_size": ("category",),
    "buckets": ("hash",),
    "size": ("identity",),
    "parts": ("datetime",),
    "cyclic": ("datetime",),
    "format": ("datetime",),
}
"""The kinds that each option belongs to."""


class ColumnOptions(Component):
    """How one column is read."""

    kind: Kind = "auto"
    """By default what the training rows look like."""
    default: str | None = None
    """What replaces a missing value; by default the median of a number, or a separate category."""
    normalise: Scale | None = None
    """How a number is scaled; by default as `task.normalise` says."""
    mean: float | None = None
    """With `variance`, the statistics to scale by, instead of those of the training rows."""
    variance: PositiveFloat | None = None
    boundaries: tuple[float, ...] = ()
    """Where a number is cut into buckets, for the wide part and for crosses; the number itself is kept."""
    vocabulary: tuple[str, ...] = ()
    """The known values of a category; by default those that the training rows hold."""
    min_count: PositiveInt | None = None
    """A value that is rarer counts as one that was never seen; by default `task.min_count`."""
    max_size: PositiveInt | None = None
    """Keep only so many values of a category, the most frequent."""
    buckets: PositiveInt | None = None
    """How many numbers a hash has."""
    size: PositiveInt | None = None
    """An identity holds whole numbers from 0 to below this."""
    parts: tuple[Part, ...] = ()
    """What is taken out of a time; by default what varies among elapsed, month, weekday and hour."""
    format: Literal["day/month/year", "month/day/year"] | None = None
    """What dates with slashes begin with; by default what the training rows show, and the month if they do not."""
    cyclic: bool | None = None
    """Whether parts that come round again become a sine and a cosine; by default yes."""

    @model_validator(mode="before")
    @classmethod
    def _from_kind(cls, value: object) -> object:
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _fits_together(self) -> "ColumnOptions":
        for name, kinds in _OWN.items():
            is_set = getattr(self, name) not in (None, ())
            if is_set and self.kind not in (*kinds, "auto"):
                raise ValueError(f"has `{name}`, which belongs to a {' or '.join(kinds)}, and `kind` is {self.kind}")
        if (self.mean is None) != (self.variance is None):
            raise ValueError("takes `mean` and `variance` together")
        if self.mean is not None and self.normalise is not None:
            raise ValueError("takes `normalise` or a given `mean` and `variance`, not both")
        if self.kind == "identity" and self.size is None:
            raise ValueError("is an identity, which needs `size`: how many whole numbers there are, from 0")
        if list(self.boundaries) != sorted(set(self.boundaries)):
            raise ValueError("has `boundaries` that do not rise")
        return self

    @property
    def stated_kind(self) -> str:
        """The kind that the options speak of, or `auto`."""
        if self.kind != "auto":
            return self.kind
        owners = [kinds[0] for name, kinds in _OWN.items() if getattr(self, name) not in (None, ())]
        return owners[0] if owners else "auto"


class Cross(Component):
    """A feature for every combination of values, hashed."""

    columns: Annotated[tuple[str, ...], Field(min_length=2, max_length=5)]
    buckets: PositiveInt = 1000

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, value: object) -> object:
        return {"columns": value} if isinstance(value, list | tuple) else value


class Derived(Component):
    """A column computed from others: by an expression, or by a function of yours."""

    expression: str | None = None
    """Arithmetic, comparisons and functions over columns."""
    function: Annotated[str | None, RunsCode()] = None
    """`package.module:function`; it is given one numpy array a column, and gives one array."""
    inputs: Mapping[str, Reading] = {}
    """What the function is given: columns, each read as number, text or time."""

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        return {"expression": value} if isinstance(value, str) else value

    @field_validator("expression")
    @classmethod
    def _readable(cls, text: str | None) -> str | None:
        if text is not None:
            parse(text)
        return text

    @field_validator("function")
    @classmethod
    def _address(cls, address: str | None) -> str | None:
        if address is not None and not all(part.isidentifier() for part in address.replace(":", ".").split(".")):
            raise ValueError("must be an address like `my_package.features:speed`")
        if address is not None and address.count(":") != 1:
            raise ValueError("must name a module and a function, like `my_package.features:speed`")
        return address

    @model_validator(mode="after")
    def _one_of_two(self) -> "Derived":
        if (self.expression is None) == (self.function is None):
            raise ValueError("takes an `expression` or a `function`")
        if self.function is not None and not self.inputs:
            raise ValueError("has a `function`, which needs `inputs`: columns, each read as number, text or time")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Name the columns it reads."""
        return parse(self.expression).columns if self.expression is not None else tuple(self.inputs)
