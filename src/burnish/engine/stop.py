"""Decides whether a run stops, and makes every rank agree."""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from types import FrameType

from burnish.dist.world import World

REASONS = ("interrupted", "preempted", "deadline", "stop_file", "orphaned")
"""In order of precedence; ranks exchange the number of the reason."""
REASON_OF_SIGNAL: dict[int, str] = {signal.SIGINT: "interrupted", signal.SIGTERM: "preempted"}
"""Ctrl-C comes from a person; SIGTERM from a scheduler or a machine that goes down."""


@dataclass
class StopRequest:
    """Remember that someone outside asked this process to stop."""

    reason: str | None = None
    echo_seconds: float = 0.0
    """A second signal that comes this soon is the first one again, passed on by the parent of several processes."""
    now: Callable[[], float] = monotonic
    _asked_at: float = 0.0
    _before: dict[int, object] = field(default_factory=dict)

    def listen(self) -> None:
        """Turn SIGTERM and SIGINT into a request; a second one ends the process at once."""
        for number in REASON_OF_SIGNAL:
            self._before[number] = signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.reason is None:
            self.reason, self._asked_at = REASON_OF_SIGNAL[number], self.now()
            listener = self._before.get(number)
            if callable(listener) and listener is not signal.default_int_handler:
                listener(number, frame)  # such as a console, which tells the user that the signal was heard
        elif self.now() - self._asked_at >= self.echo_seconds:
            os._exit(128 + number)


@dataclass
class Stopper:
    """Answer once a step whether the run stops, the same on every rank."""

    world: World
    request: StopRequest
    stop_file: Path
    max_minutes: float | None = None
    now: Callable[[], float] = monotonic
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.now()

    def reason(self) -> str | None:
        """Return the first reason that any rank has, or None to go on."""
        wish = self._wish()
        wishes = self.world.sum([float(wish == reason) for reason in REASONS])
        return next((reason for reason, count in zip(REASONS, wishes, strict=True) if count), None)

    def _wish(self) -> str | None:
        if self.request.reason is not None:
            return self.request.reason
        if self.max_minutes is not None and self.now() - self._began >= self.max_minutes * 60:
            return "deadline"
        return "stop_file" if self.stop_file.exists() else None
