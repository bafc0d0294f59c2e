"""Lifts losses so that small gradients survive float16, by the largest factor that does not overflow."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

_FIRST = 2.0**16
_LEAST = 1.0
_STEPS_TO_DOUBLE = 2000


class LossScale:
    """A factor found by trying: halved when gradients overflow, doubled after many steps without.

    All processes of a run see the same summed gradients, so they find the same factor.
    """

    def __init__(self, *, is_used: bool) -> None:
        self.is_used = is_used
        self.factor = _FIRST if is_used else 1.0
        self._good_steps = 0

    def lifted(self, loss: Tensor) -> Tensor:
        """Return the loss to go back from."""
        return loss * self.factor if self.is_used else loss

    def lower(self, gradients: Sequence[Tensor]) -> None:
        """Put gradients back to their own size."""
        if self.is_used:
            torch._foreach_mul_(list(gradients), 1.0 / self.factor)

    def is_overflow(self, norm: float) -> bool:
        """Check whether a step must be left out because the factor was too large, and learn from it either way.

        A gradient that is no number even without a factor is no fault of the factor.
        """
        if not self.is_used:
            return False
        if math.isfinite(norm):
            self._good_steps += 1
            if self._good_steps == _STEPS_TO_DOUBLE:
                self.factor, self._good_steps = self.factor * 2.0, 0
            return False
        is_at_fault = self.factor > _LEAST
        self.factor, self._good_steps = max(_LEAST, self.factor / 2.0), 0
        return is_at_fault

    def state(self) -> dict[str, Any]:
        """Return the numbers that a resumed run needs; none where no factor is used."""
        return {"factor": self.factor, "good_steps": self._good_steps} if self.is_used else {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over such numbers; without them, begin anew."""
        if self.is_used and state:
            if not {"factor", "good_steps"} <= state.keys():
                raise ValueError("the factor of the loss and the number of good steps are not both there")
            self.factor, self._good_steps = float(state["factor"]), int(state["good_steps"])
