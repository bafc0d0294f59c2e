"""Hands every event of a run to all who watch; none of them can stop it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from burnish.run.events_file import EventsFile
from burnish.spec.events import Event, Noted
from burnish.spec.protocols import Watcher


@dataclass
class Sinks:
    """The events file, whoever started the process, and the trackers."""

    file: EventsFile
    attempt: int
    listener: Callable[[Event], None]
    watchers: Sequence[Watcher] = ()

    def emit(self, event: Event) -> None:
        """Write the event down first, then tell the others."""
        self.file.append(event, time=time.time(), attempt=self.attempt)
        self.listener(event)
        for watcher in self.watchers:
            watcher.emit(event)

    def note(self, message: str, *, step: int = 0) -> None:
        """Tell one sentence."""
        self.emit(Noted(step, message))

    def close(self) -> None:
        """Let everyone finish."""
        self.file.close()
        for watcher in self.watchers:
            watcher.close()
