"""What a run tells while it goes: the only thing that watchers ever see of the loop."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True)
class Started:
    """A worker begins or goes on; `attempt` counts starts of the same run."""

    step: int
    attempt: int
    total_steps: int | None
    facts: Mapping[str, object] = field(default_factory=dict)
    """Numbers worth showing once: examples, parameters, padding waste, share of text cut."""


@dataclass(frozen=True)
class Stepped:
    """One optimizer step was taken."""

    step: int
    epoch: float
    loss: float
    learning_rate: float
    gradient_norm: float
    examples: int
    tokens: int
    fraction: float
    """How much of the whole training is done, from 0 to 1."""


@dataclass(frozen=True)
class Evaluated:
    """A split was scored at this step."""

    step: int
    split: str
    scores: Mapping[str, float]
    is_best: bool


@dataclass(frozen=True)
class Saved:
    """A checkpoint exists at this step."""

    step: int
    path: str


@dataclass(frozen=True)
class Noted:
    """Something happened that the user should know, in one sentence."""

    step: int
    message: str


@dataclass(frozen=True)
class Ended:
    """The loop is over, and why: finished, early_stopping, interrupted, preempted, deadline, stop_file, orphaned."""

    step: int
    reason: str
    best_step: int | None = None
    best_score: float | None = None
    select: str | None = None
    """The name of the score that decides which step is best."""
    patience: int | None = None
    """Of a run that stopped early: how many evaluations in a row brought nothing better."""


@dataclass(frozen=True)
class EpochEnded:
    """Every training row was taken once more; told to trackers only."""

    step: int
    epoch: int


@dataclass(frozen=True)
class FinalScores:
    """The finished model was scored on a split; told to trackers only, as scores.json holds it."""

    step: int
    split: str
    scores: Mapping[str, float]


Event = Started | Stepped | Evaluated | Saved | Noted | Ended


TrackedEvent = Event | EpochEnded | FinalScores


class Watcher(Protocol):
    """A tracker at work."""

    def emit(self, event: TrackedEvent) -> None: ...
    def close(self) -> None: ...
