"""A stretch of a run for a drill: stopped after a number of steps, ended by a signal on the way, and watched."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import PositiveInt

from burnish.commands.train import work
from burnish.engine.stop import REASON_OF_SIGNAL
from burnish.errors import LaunchError
from burnish.run.record.directory import RunDirectory
from burnish.spec.component import Component
from burnish.spec.events import Event, Saved, Started, Stepped, TrackedEvent

Watch = Callable[[Event], None]


class StopAfter(Component):
    """Ask a run to save and stop after `steps` steps. A tracker, so that a drill needs no hook in the loop."""

    steps: PositiveInt

    def open(self, directory: Path, *, name: str) -> "Stopping":
        """Watch the run in a directory."""
        return Stopping(self.steps, RunDirectory(directory).stop_file)


@dataclass(frozen=True)
class Stopping:
    """Put the STOP file into place when its step has come."""

    steps: int
    stop_file: Path

    def emit(self, event: TrackedEvent) -> None:
        """Ask for the stop; also at once when the run went on from the last step or beyond."""
        if isinstance(event, Started | Stepped) and event.step >= self.steps:
            self.stop_file.touch()

    def close(self) -> None:
        """Nothing is held."""


@dataclass
class ObservedWorker:
    """What was seen of one worker; times are of the clock that `now` reads."""

    planned_signal: int | None = None
    at_step: int = 0
    delay_seconds: float = 0.0
    began: float = 0.0
    started: float | None = None
    first_step: int = 0
    """The step that it resumed from."""
    passed: dict[int, float] = field(default_factory=dict)
    """When each step was done."""
    num_saves: int = 0
    signalled: float | None = None

    @property
    def step(self) -> int:
        """The last step that was seen."""
        return max(self.passed, default=self.first_step)

    def note(self, event: Event, *, now: float) -> None:
        """Remember what an event says."""
        if isinstance(event, Started) and self.started is None:  # one that goes back after a bad step starts again
            self.started, self.first_step = now, event.step
        elif isinstance(event, Stepped):
            self.passed[event.step] = now
        elif isinstance(event, Saved):
            self.num_saves += 1

    def count_lost(self, following: "ObservedWorker") -> float:
        """Count the seconds of work between the checkpoint that the next worker resumed from and the signal."""
        assert self.signalled is not None
        if self.planned_signal == signal.SIGTERM and following.first_step >= self.step:
            return 0.0
        return max(0.0, self.signalled - self.passed.get(following.first_step, self.started or self.began))

    @property
    def seconds(self) -> float:
        """How long it trained, from the start to the last step."""
        return max(self.passed.values()) - (self.started or self.began)

    @property
    def is_time(self) -> bool:
        """Whether the signal is due and was not sent."""
        return self.planned_signal is not None and self.signalled is None and self.step >= self.at_step


def train_observed(
    run: RunDirectory,
    attempt: ObservedWorker,
    *,
    processes: int | None,
    watch: Watch,
    is_enough: Callable[[ObservedWorker], bool] = lambda attempt: False,
) -> int:
    """Train a planned run until it ends, has had enough or gets its signal; return the step it stopped after."""

    def hear(event: Event) -> None:
        watch(event)
        attempt.note(event, now=time.monotonic())
        if isinstance(event, Stepped) and is_enough(attempt):
            run.stop_file.touch()
        if attempt.is_time:
            time.sleep(attempt.delay_seconds)  # or every kill would fall just after a step
            attempt.signalled = time.monotonic()
            lock = run.read_lock()
            if lock is not None and lock.pid > 1:
                os.kill(lock.pid, attempt.planned_signal or signal.SIGTERM)

    attempt.began = time.monotonic()
    try:
        result = work(run, processes=processes, watch=hear)
    except LaunchError:
        if attempt.signalled is None or attempt.planned_signal != signal.SIGKILL:
            raise
        return attempt.step
    if result.reason in REASON_OF_SIGNAL.values() and attempt.signalled is None:
        raise KeyboardInterrupt  # the signal was not ours, so someone wants the whole drill to stop
    return result.step


def describe(attempt: ObservedWorker, *, is_first: bool) -> str:
    """Say what a worker of the interrupted run is for."""
    begin = "training the same steps again" if is_first else "resuming"
    if attempt.planned_signal is None:
        return f"{begin} to the end"
    return f"{begin}; {signal.Signals(attempt.planned_signal).name} after step {attempt.at_step:,}"
