"""How far a run is in steps, epochs, examples and minutes, and its milestones, decided before the first step."""

import math
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt

from burnish.spec.interval import Interval
from burnish.spec.protocols import Schedule

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True)
class TrainingProgress:
    """How far a run has come, by every unit."""

    step: NonNegativeInt = 0
    epochs: Amount = 0.0
    examples: NonNegativeInt = 0
    minutes: Amount = 0.0

    def by(self, unit: str) -> float:
        """Return the amount in one unit."""
        return {"steps": self.step, "epochs": self.epochs, "examples": self.examples, "minutes": self.minutes}[unit]

    def fraction_of(self, length: Interval) -> float:
        """Find how much of a length is behind, from 0 to 1."""
        return min(1.0, self.by(length.unit) / length.amount)

    def has_reached(self, length: Interval) -> bool:
        """Check whether a length is complete."""
        return self.by(length.unit) >= length.amount - 1e-9


def is_due(every: Interval, *, before: TrainingProgress, now: TrainingProgress) -> bool:
    """Check whether a multiple of `every` lies after `before`, up to and including `now`."""
    if every.unit == "never":
        return False
    return _multiples(every, now) > _multiples(every, before)


def _multiples(every: Interval, place: TrainingProgress) -> int:
    # The small term mends sums like 3 * 0.1, which must count as having reached 0.3.
    return math.floor(place.by(every.unit) / every.amount + 1e-9)


@dataclass(frozen=True)
class Milestones:
    """The policy of a run with every unit resolved."""

    length: Interval
    evaluate_every: Interval
    checkpoint_every: Interval
    schedule: Schedule
    total_steps: int | None
    """None when the length is given in minutes."""
    select: str
    direction: Literal["max", "min"]
    patience: int | None
    evaluate_at_start: bool = False

    def factor(self, position: TrainingProgress) -> float:
        """Return the learning rate's factor for the next step."""
        return self.schedule.factor(position.step, self._total(position))

    def heed(self, memory: dict[str, float], score: float) -> dict[str, float]:
        """Tell a schedule that follows the scores another one; what it answers is told with the next, and saved."""
        heed = getattr(self.schedule, "heed", None)
        return memory if heed is None else dict(heed(memory, score, direction=self.direction))

    def _total(self, position: TrainingProgress) -> int:
        if self.total_steps is not None:
            return self.total_steps
        fraction = position.fraction_of(self.length)
        # By the clock, the number of steps is only known from the speed so far.
        return max(position.step + 1, round(position.step / fraction)) if fraction else 10**9
