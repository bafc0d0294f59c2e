"""A stretch of a run for a drill: stopped after a number of steps, ended by a signal on the way, and watched."""

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pydantic import PositiveInt

from burnish.commands.train import work
from burnish.engine.stop import REASON_OF_SIGNAL
from burnish.errors import LaunchError
from burnish.run.record.directory import RunDirectory
from burnish.run.record.result import RunResult
from burnish.spec.component import Component
from burnish.spec.events import Event, Saved, Started, Stepped

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

    def emit(self, event: Event) -> None:
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

    @property
    def is_time(self) -> bool:
        """Tell whether the signal is due and was not sent."""
        return self.planned_signal is not None and self.signalled is None and self.step >= self.at_step


def straight(
    run: RunDirectory, *, processes: int, is_enough: Callable[[ObservedWorker], bool], watch: Watch
) -> tuple[ObservedWorker, int]:
    """Train a planned run until it has had enough, undisturbed; tell what was seen, and the step it stopped after."""
    attempt = ObservedWorker(began=time.monotonic())

    def hear(event: Event) -> None:
        watch(event)
        attempt.note(event, now=time.monotonic())
        if isinstance(event, Stepped) and is_enough(attempt):
            run.stop_file.touch()

    return attempt, _worked(run, attempt, processes=processes, watch=hear).step


def interrupted(
    run: RunDirectory, planned: Sequence[ObservedWorker], *, processes: int, watch: Watch, tell: Callable[[str], None]
) -> list[ObservedWorker]:
    """Train a planned run, end each worker by its signal, and let a last one come to the end."""
    attempts = [*planned, ObservedWorker()]
    for attempt in attempts:
        tell(_purpose(attempt, is_first=attempt is attempts[0]))
        attempt.began = time.monotonic()
        hear = partial(_hear, attempt=attempt, run=run, watch=watch)
        try:
            _worked(run, attempt, processes=processes, watch=hear)
        except LaunchError:
            if attempt.signalled is None or attempt.planned_signal != signal.SIGKILL:
                raise
    return attempts


def _purpose(attempt: ObservedWorker, *, is_first: bool) -> str:
    begin = "training the same steps again" if is_first else "resuming"
    if attempt.planned_signal is None:
        return f"{begin} to the end"
    return f"{begin}; {signal.Signals(attempt.planned_signal).name} after step {attempt.at_step:,}"


def _worked(run: RunDirectory, attempt: ObservedWorker, *, processes: int, watch: Watch) -> RunResult:
    result = work(run, processes=processes, watch=watch)
    if result.reason in REASON_OF_SIGNAL.values() and attempt.signalled is None:
        raise KeyboardInterrupt  # the signal was not ours, so someone wants the whole drill to stop
    return result


def _hear(event: Event, *, attempt: ObservedWorker, run: RunDirectory, watch: Watch) -> None:
    watch(event)
    attempt.note(event, now=time.monotonic())
    if attempt.is_time:
        time.sleep(attempt.delay_seconds)  # or every kill would fall just after a step
        attempt.signalled = time.monotonic()
        _send(attempt.planned_signal or signal.SIGTERM, run)


def _send(number: int, run: RunDirectory) -> None:
    lock = run.read_lock()
    if lock is not None and lock.pid > 1:
        os.kill(lock.pid, number)
