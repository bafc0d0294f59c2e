"""Where a run stands in steps, epochs, examples and minutes, and what is due between two such places."""

import math
from dataclasses import dataclass

from burnish.spec.interval import Interval


@dataclass(frozen=True)
class TrainingProgress:
    """How far a run has come, by every unit."""

    step: int = 0
    epochs: float = 0.0
    examples: int = 0
    minutes: float = 0.0

    def by(self, unit: str) -> float:
        """Give the amount in one unit."""
        return {"steps": self.step, "epochs": self.epochs, "examples": self.examples, "minutes": self.minutes}[unit]

    def fraction_of(self, length: Interval) -> float:
        """Tell how much of a length is behind, from 0 to 1."""
        return min(1.0, self.by(length.unit) / length.amount)

    def has_reached(self, length: Interval) -> bool:
        """Tell whether a length is complete."""
        return self.by(length.unit) >= length.amount - 1e-9


def is_due(every: Interval, *, before: TrainingProgress, now: TrainingProgress) -> bool:
    """Tell whether a multiple of `every` lies after `before`, up to and including `now`."""
    if every.unit == "never":
        return False
    return _multiples(every, now) > _multiples(every, before)


def _multiples(every: Interval, place: TrainingProgress) -> int:
    # The small term mends sums like 3 * 0.1, which must count as having reached 0.3.
    return math.floor(place.by(every.unit) / every.amount + 1e-9)
