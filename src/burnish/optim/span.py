"""A part of the training, as a share or in steps: "6%", "100 steps"."""

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from burnish.spec.interval import plain

_FORM = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*(%|steps?)\s*$")
_WANTED = 'must be a share of the training or a number of steps, like "6%" or "100 steps"'


@dataclass(frozen=True)
class Span:
    """Hold a share in percent, or a number of steps."""

    amount: float
    unit: Literal["%", "steps"]

    @classmethod
    def parse(cls, text: str) -> "Span":
        """Read "6%" or "100 steps"; raise ValueError with a sentence for anything else."""
        match = _FORM.match(text.lower())
        if match is None:
            raise ValueError(_WANTED)
        amount = float(match[1])
        if math.isinf(amount):
            raise ValueError(f"{_WANTED}, and a number that a computer can hold")
        if match[2] == "%":
            return cls(_share(amount), "%")
        if not amount.is_integer():
            raise ValueError(f"must be a whole number of steps, like {amount:.0f} steps")
        return cls(amount, "steps")

    def steps(self, total_steps: int) -> int:
        """Give the number of steps it covers; a share is rounded up."""
        if self.unit == "steps":
            return int(self.amount)
        # Exact arithmetic: 7% of 100 is 7, while 0.07 * 100 is a little more than 7.
        return math.ceil(Fraction(str(self.amount)) * total_steps / 100)

    def __str__(self) -> str:
        return f"{plain(self.amount)}{'%' if self.unit == '%' else ' steps'}"

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: type, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            _coerce, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "examples": ["6%", "100 steps"]}


def _share(percent: float) -> float:
    if percent > 100:
        raise ValueError(f"must be at most 100%, the whole training, got {percent:g}%")
    return percent


def _coerce(value: object) -> Span:
    if isinstance(value, Span):
        return value
    if isinstance(value, str):
        return Span.parse(value)
    raise ValueError(_WANTED)
