"""All that a run is at one moment: the only thing that changes while it trains."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from pydantic import TypeAdapter

from burnish.engine.position import Position
from burnish.spec.values import StepResult


@dataclass(frozen=True)
class Taken:
    """What one step consumed and gave."""

    result: StepResult
    epochs: float
    global_examples: int
    seconds: float = 0.0
    """How long it took; the same number on every process, or they would disagree on what is due by the clock."""


class Trainee(Protocol):
    """A learner with its stream of batches: something that can take a step and be put back."""

    def advance(self, step: int, factor: float) -> Taken:
        """Draw a batch and learn from it; `step` counts from 0, `factor` scales the learning rate."""
        ...

    def cursor(self) -> dict[str, int]:
        """Tell the position in the data, as numbers."""
        ...

    @property
    def learning_rate(self) -> float:
        """The rate of the last step."""
        ...


@dataclass
class TrainState:
    """Counters of a run. Saved with every checkpoint; weights and optimizer are saved beside it."""

    position: Position = field(default_factory=Position)
    best_score: float | None = None
    best_step: int | None = None
    evaluated_step: int | None = None
    bad_evaluations: int = 0
    is_due: bool = True
    """Whether a run that nobody stopped would have saved here too: only such a place is one to go back to."""

    def improves(self, score: float, direction: Literal["max", "min"]) -> bool:
        """Tell whether a score strictly beats the best one; a score that is no number never does."""
        if math.isnan(score):
            return False
        if self.best_score is None:
            return True
        return score > self.best_score if direction == "max" else score < self.best_score

    def to_json(self) -> dict[str, Any]:
        """Give plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "TrainState":
        """Rebuild from plain values."""
        return TypeAdapter(cls).validate_python(values)
