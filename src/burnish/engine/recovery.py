"""What went wrong in a run and was mended: as values that give the same training again, whenever it is resumed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from pydantic import TypeAdapter

from burnish.spec.experiment import Recovery
from burnish.spec.values import StepResult

Splits = tuple[tuple[int, int], ...]
"""From which step on batches must be smaller, and than what."""


class BadStep(Exception):
    """Say that a step must not be applied: its loss or gradient is no number, or the loss is over the limit."""

    def __init__(self, step: int, result: StepResult, rows: Sequence[int]) -> None:
        super().__init__(f"step {step} gave a loss of {result.loss:g} and a gradient norm of {result.gradient_norm:g}")
        self.step = step
        self.result = result
        self.rows = tuple(rows)
        """Positions in the training rows."""
        self.place = (0, 0)
        """Epoch and batch, both from 0; set by whoever drew the batch."""


def is_bad(result: StepResult, *, loss_limit: float | None) -> bool:
    """Check whether an update must not be applied."""
    if not (math.isfinite(result.loss) and math.isfinite(result.gradient_norm)):
        return True
    return loss_limit is not None and result.loss > loss_limit


@dataclass(frozen=True)
class Adjustments:
    """All that was mended in a run, each thing bound to a place: resumed from anywhere, it applies in the same way."""

    skipped: tuple[tuple[int, int], ...] = ()
    """Batches that are passed over: epoch and batch, from 0."""
    lowered: tuple[tuple[int, float], ...] = ()
    """From which step on the learning rate is multiplied, and by what."""
    split: Splits = ()
    """Of the micro-batches that it learns from."""
    split_evaluations: Splits = ()
    """Of the batches that it is scored on."""

    @property
    def tries(self) -> int:
        """Count the times a run was put back."""
        return len(self.skipped) + len(self.lowered)

    def rate(self, step: int) -> float:
        """Return what the learning rate of a step is multiplied by."""
        return math.prod(factor for since, factor in self.lowered if step >= since)

    def with_split(self, step: int, size: int) -> "Adjustments":
        """Add that a micro-batch of this size did not fit."""
        return replace(self, split=(*self.split, (step, size)))

    def with_split_evaluation(self, step: int, size: int) -> "Adjustments":
        """Add that a batch of this size did not fit when the run was scored."""
        return replace(self, split_evaluations=(*self.split_evaluations, (step, size)))

    def after(self, bad: BadStep, policy: Recovery, *, restored_step: int) -> "Adjustments | None":
        """Add what the policy does about a bad step; None when nothing more may be tried."""
        if policy.action == "stop" or self.tries >= policy.tries:
            return None
        if policy.action == "skip":
            return replace(self, skipped=(*self.skipped, bad.place))
        return replace(self, lowered=(*self.lowered, (restored_step, policy.factor)))

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Adjustments":
        """Rebuild from plain values; raise ValueError for any others."""
        if not isinstance(values, Mapping) or not values.keys() <= {each.name for each in fields(cls)}:
            raise ValueError("these are no repairs that this version knows")
        return TypeAdapter(cls).validate_python(dict(values))


NO_REPAIRS = Adjustments()


def size_limit(splits: Splits, step: int) -> int | None:
    """Return the size that a batch must stay below in this step; None for no limit."""
    return min((size for since, size in splits if step >= since), default=None)
