"""What every configurable thing is: a frozen value whose fields are its options."""

from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class Component(BaseModel):
    """Be configured by fields and behave by methods; hold nothing else."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, arbitrary_types_allowed=True)

    shorthand: ClassVar[str | None] = None
    """The field that a bare scalar fills: `batch: 32` means `batch: {examples: 32}`."""


@dataclass(frozen=True)
class Slot:
    """Mark a field that takes any registered component of one kind, written as `type:` + options."""

    kind: str
    default: str | None = None
