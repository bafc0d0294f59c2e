"""All that a run is at one moment: the only thing that changes while it trains."""

import math
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import NonNegativeInt, TypeAdapter, ValidationError

from burnish.engine.progress import TrainingProgress
from burnish.errors import CheckpointError
from burnish.spec.values import StepResult


@dataclass(frozen=True)
class StepOutput:
    """What one step consumed and gave."""

    result: StepResult
    epochs: float
    global_examples: int
    seconds: float = 0.0
    """How long it took; the same number on every process, or they would disagree on what is due by the clock."""


class Steppable(Protocol):
    """A learner with its stream of batches: something that can take a step and be put back."""

    def advance(self, step: int, factor: float) -> StepOutput:
        """Draw a batch and learn from it; `step` counts from 0, `factor` scales the learning rate."""
        ...

    def cursor(self) -> dict[str, int]:
        """Find the position in the data, as numbers."""
        ...

    @property
    def learning_rate(self) -> float:
        """The rate of the last step."""
        ...


@dataclass
class TrainState:
    """Counters of a run. Saved with every checkpoint; weights and optimizer are saved beside it."""

    position: TrainingProgress = field(default_factory=TrainingProgress)
    best_score: float | None = None
    best_step: int | None = None
    evaluated_step: int | None = None
    bad_evaluations: int = 0
    schedule: dict[str, float] = field(default_factory=dict)
    """What a schedule that follows the scores remembers of them."""
    is_due: bool = True
    """Whether a run that nobody stopped would have saved here too: only such a place is one to go back to."""

    def improves(self, score: float, direction: Literal["max", "min"]) -> bool:
        """Check whether a score strictly beats the best one; a score that is no number never does."""
        if math.isnan(score):
            return False
        if self.best_score is None:
            return True
        return score > self.best_score if direction == "max" else score < self.best_score

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "TrainState":
        """Rebuild from plain values."""
        return TypeAdapter(cls).validate_python(values)


@dataclass(frozen=True)
class SavedCursor:
    """The place of the next batch, both from 0."""

    epoch: NonNegativeInt
    batch: NonNegativeInt


@dataclass(frozen=True)
class Moment:
    """What a checkpoint records besides weights and optimizer."""

    train: TrainState
    cursor: SavedCursor
    repairs: dict[str, Any] | None = None
    noise: str | None = None
    """How dropout was drawn; checkpoints of earlier versions, where it was drawn by process, do not say."""

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Moment":
        """Rebuild from plain values; raise ValueError for those of another shape."""
        return TypeAdapter(cls).validate_python(values)


@contextmanager
def refusing_misfit(folder: Path) -> Iterator[None]:
    """Say in a sentence that files which are as they were written hold something else than what is read from them.

    What reads them raises ValueError for that; any other exception is a bug of ours, and must look like one.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        said = "; ".join(_complaints(error)) if isinstance(error, ValidationError) else str(error)
        raise CheckpointError(
            f"{folder} does not hold the state of this run: {textwrap.shorten(said, 300)}. Restore it from a copy, or "
            "move it away and resume from the one before"
        ) from error


def _complaints(error: ValidationError) -> Iterator[str]:
    for each in error.errors(include_url=False):
        yield f"{'.'.join(map(str, each['loc'])) or 'it'}: {each['msg']}"
