"""How long a run is and what happens when: decided before the first step."""

from dataclasses import dataclass
from typing import Literal

from burnish.engine.position import TrainingProgress
from burnish.spec.interval import Interval
from burnish.spec.protocols import Schedule


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

    def factor(self, position: TrainingProgress) -> float:
        """Give the learning rate's factor for the next step."""
        return self.schedule.factor(position.step, self._total(position))

    def _total(self, position: TrainingProgress) -> int:
        if self.total_steps is not None:
            return self.total_steps
        fraction = position.fraction_of(self.length)
        # By the clock, the number of steps is only known from the speed so far.
        return max(position.step + 1, round(position.step / fraction)) if fraction else 10**9
