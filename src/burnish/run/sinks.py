"""Hands every event of a run to all who watch; none of them can stop it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from burnish.errors import BurnishError
from burnish.run.record.directory import RunDirectory
from burnish.run.record.events_file import read_evaluations
from burnish.spec.events import EpochEnded, Evaluated, Event, Noted, Started, Stepped, TrackedEvent, Watcher
from burnish.spec.protocols import Tracker
from burnish.storage.room import DiskSpace

_BYTES_OF_AN_EVENT = 4096
"""A generous guess, and what most disks hand out at once."""


class Log(Protocol):
    """Where events are written down, and cut back when a run goes on from an earlier step."""

    def append(self, event: Event, *, time: float, attempt: int) -> None:
        """Write one event."""
        ...

    def rewind(self, step: int) -> int:
        """Forget what happened after a step; tell how many events that were."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


class NoLog:
    """Write nothing: the log of a process that is not the first of its run."""

    def append(self, event: Event, *, time: float, attempt: int) -> None:
        """Forget the event."""

    def rewind(self, step: int) -> int:
        """Forget nothing, for nothing is there."""
        return 0

    def close(self) -> None:
        """Do nothing."""


@dataclass
class EventDispatcher:
    """The events file, whoever started the process, and the trackers."""

    file: Log
    attempt: int
    listener: Callable[[Event], None]
    watchers: Sequence[Watcher] = ()
    room: DiskSpace | None = None
    """How long a full disk is waited for; without it, not at all."""
    epoch: int | None = None
    """How many epochs are over; unknown until a resumed run has taken a step."""

    def emit(self, event: Event) -> None:
        """Write the event down first, then tell the others."""
        self._write(event)
        self.listener(event)
        self.tell(event)
        if isinstance(event, Stepped):
            before, self.epoch = self.epoch, int(event.epoch)
            if before is not None and self.epoch > before:
                self.tell(EpochEnded(event.step, self.epoch))
        elif isinstance(event, Started) and not event.step:
            self.epoch = 0

    def tell(self, event: TrackedEvent) -> None:
        """Tell the trackers alone."""
        for watcher in self.watchers:
            self._guard(watcher, lambda watcher=watcher: watcher.emit(event))  # type: ignore[misc]  # bound at once

    def _write(self, event: Event) -> None:
        moment = time.time()
        if self.room is None:
            self.file.append(event, time=moment, attempt=self.attempt)
            return
        self.room.write(
            lambda: self.file.append(event, time=moment, attempt=self.attempt),
            needed=_BYTES_OF_AN_EVENT,
            what="another event",
            give_up_something=lambda: None,
            tell=lambda sentence: self.listener(Noted(event.step, sentence)),
        )

    def note(self, message: str, *, step: int = 0) -> None:
        """Tell one sentence."""
        self.emit(Noted(step, message))

    def watch(self, tracker: Tracker, directory: Path, *, name: str) -> None:
        """Let a tracker watch from now on; one that cannot begin is told of, and refused only for what a user asked."""
        try:
            self.watchers = [*self.watchers, tracker.open(directory, name=name)]
        except BurnishError:
            raise  # like an extra that is not installed: better known now than after the run
        except Exception as error:  # whatever a tracker runs into, the run is worth more
            self.note(f"{type(tracker).__name__} could not start and is ignored: {type(error).__name__}: {error}")

    def close(self) -> None:
        """Let everyone finish."""
        for watcher in self.watchers:
            self._guard(watcher, watcher.close)
        self.file.close()

    def _guard(self, watcher: Watcher, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # whatever a tracker runs into, the run is worth more
            self.watchers = [each for each in self.watchers if each is not watcher]
            name = type(watcher).__name__
            self.note(f"{name} failed and is ignored from now on: {type(error).__name__}: {error}")


@dataclass(frozen=True)
class PauseAfter:
    """Asks a run to stop, by its STOP file, once it has been evaluated so often, earlier attempts included."""

    directory: RunDirectory
    num_evaluations: int

    def emit(self, event: TrackedEvent) -> None:
        """Count in the file, which is cut back when a run goes on from an earlier step."""
        if isinstance(event, Evaluated) and len(read_evaluations(self.directory)) >= self.num_evaluations:
            self.directory.stop_file.touch()

    def close(self) -> None:
        """Do nothing."""


def silent() -> EventDispatcher:
    """Let nobody hear: for a process that is not the first of its run, and for a rehearsal."""
    return EventDispatcher(NoLog(), 0, lambda _event: None)
