"""Values that users write as one text with a unit, such as a length of training: "500 steps", "2 epochs"."""

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Literal, Self, get_args

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

Unit = Literal["steps", "epochs", "examples", "minutes", "never"]
UNITS: tuple[str, ...] = get_args(Unit)

_FORM = re.compile(r"^\s*(\d+(?:[_,]\d{3})*(?:\.\d+)?)\s*([a-z]+)\s*$")
_NUMBER = re.compile(r"^\s*\d+(?:\.\d+)?\s*$")
_WANTED = 'must be a number with a unit, like "500 steps", "2 epochs", "50000 examples" or "30 minutes"'


class TextValue:
    """A value that is written as one text: pydantic reads it by `parse` and writes it by `str`."""

    examples: ClassVar[tuple[str | float, ...]]

    @classmethod
    def parse(cls, written: Any) -> Self:
        """Read what a user wrote; raise ValueError with a sentence for anything that is no such value."""
        raise NotImplementedError

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda value: value if isinstance(value, cls) else cls.parse(value),
            serialization=core_schema.plain_serializer_function_ser_schema(str),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        forms = [{"type": "string"}, {"type": "number"}]
        has_numbers = not all(isinstance(each, str) for each in cls.examples)
        return {**({"anyOf": forms} if has_numbers else forms[0]), "examples": [*cls.examples]}


@dataclass(frozen=True)
class Interval(TextValue):
    """A length of training: an amount, and the unit it is counted in."""

    examples = ("3 epochs", "500 steps", "30 minutes")

    amount: float
    unit: Unit

    @classmethod
    def parse(cls, written: object) -> Self:
        text = written if isinstance(written, str) else ""
        if text.strip().lower() == "never":
            return cls(math.inf, "never")
        match = _FORM.match(text.lower())
        if match is None:
            *most, last = (f'"{text.strip()} {unit}"' for unit in UNITS if unit != "never")
            is_bare = _NUMBER.match(text) is not None
            raise ValueError(f"needs a unit: {', '.join(most)} or {last}" if is_bare else _WANTED)
        unit = match[2] if match[2].endswith("s") else match[2] + "s"
        if unit not in UNITS:
            raise ValueError(f"{_WANTED}; `{match[2]}` is not a unit")
        amount = float(match[1].replace("_", "").replace(",", ""))
        if not 0 < amount < math.inf:
            raise ValueError("must be more than zero, and a number that a computer can hold")
        return cls(amount, unit)  # type: ignore[arg-type]  # the line above proved it

    def __str__(self) -> str:
        if self.unit == "never":
            return "never"
        return f"{plain(self.amount)} {self.unit if self.amount != 1 else self.unit[:-1]}"


NEVER = Interval(math.inf, "never")


def plain(number: float) -> str:
    """Write a number in plain digits, as many as tell it from every other: `3`, `0.00005`."""
    digits = f"{Decimal(repr(float(number))):f}"
    return digits.removesuffix(".0")
