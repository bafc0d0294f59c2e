"""A length of training with its unit: "500 steps", "2 epochs", "30 minutes"."""

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, get_args

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

Unit = Literal["steps", "epochs", "examples", "minutes", "never"]
UNITS: tuple[str, ...] = get_args(Unit)

_FORM = re.compile(r"^\s*(\d+(?:[_,]\d{3})*(?:\.\d+)?)\s*([a-z]+)\s*$")
_NUMBER = re.compile(r"^\s*\d+(?:\.\d+)?\s*$")
_WANTED = 'must be a number with a unit, like "500 steps", "2 epochs", "50000 examples" or "30 minutes"'


@dataclass(frozen=True)
class Interval:
    """Hold an amount and the unit it is counted in."""

    amount: float
    unit: Unit

    @classmethod
    def parse(cls, text: str) -> "Interval":
        """Read "500 steps"; raise ValueError with a sentence for anything else."""
        if text.strip().lower() == "never":
            return cls(math.inf, "never")
        match = _FORM.match(text.lower())
        if match is None:
            raise ValueError(_which_unit(text) if _NUMBER.match(text) else _WANTED)
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

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            _coerce, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "examples": ["3 epochs", "500 steps", "30 minutes"]}


NEVER = Interval(math.inf, "never")


def _which_unit(number: str) -> str:
    *most, last = (f'"{number.strip()} {unit}"' for unit in UNITS if unit != "never")
    return f"needs a unit: {', '.join(most)} or {last}"


def plain(number: float) -> str:
    """Write a number in plain digits, as many as tell it from every other: `3`, `0.00005`."""
    digits = f"{Decimal(repr(float(number))):f}"
    return digits.removesuffix(".0")


def _coerce(value: object) -> Interval:
    if isinstance(value, Interval):
        return value
    if isinstance(value, str):
        return Interval.parse(value)
    raise ValueError(_WANTED)
