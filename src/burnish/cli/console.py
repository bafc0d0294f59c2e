"""Who watches a run for the user: a live bar on a terminal, plain lines elsewhere, JSON lines for programs."""

import json
import sys
import threading
from collections.abc import Callable
from time import monotonic
from typing import Protocol, Self, TextIO

from burnish.cli.progress import Progress, advance, announce, status_line
from burnish.spec.events import Event, Stepped

PLAIN_SECONDS = 5.0
"""Plain output tells of progress at most this often."""

STARTING_SECONDS = 1.0
"""How long a worker may start in silence."""


class Console(Protocol):
    """Show events to someone; used as a context, so that a live bar always goes away."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def watch(self, event: Event) -> None:
        """Take one event."""
        ...


def console_for(*, is_json: bool = False, is_quiet: bool = False) -> Console:
    """Choose how to show a run from what the user asked and where standard error goes."""
    if is_json:
        return JsonConsole(sys.stdout)
    if is_quiet:
        return Silence()
    if sys.stderr.isatty():
        from burnish.cli.live import Live

        return Live()
    return PlainLines(sys.stderr)


class Silence:
    """Show nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def watch(self, event: Event) -> None:
        """Look away."""


class JsonConsole:
    """Write each event as one JSON object a line, in the form of events.jsonl."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def watch(self, event: Event) -> None:
        """Write the event's line."""
        from burnish.run.record.events_file import to_dict

        print(json.dumps(to_dict(event)), file=self._stream, flush=True)


class PlainLines:
    """Write lines without control codes: for logs, pipes and continuous integration."""

    def __init__(
        self,
        stream: TextIO,
        *,
        now: Callable[[], float] = monotonic,
        timer: Callable[..., threading.Timer] = threading.Timer,
    ) -> None:
        self._stream = stream
        self._now = now
        # told only when it lasts, so that a config refused at once leaves nothing but its error
        self._starting = timer(STARTING_SECONDS, self._tell, ("starting",))
        self._progress = Progress()
        self._told_at = -PLAIN_SECONDS

    def __enter__(self) -> Self:
        self._starting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._starting.cancel()

    def watch(self, event: Event) -> None:
        """Write the event's own line, or now and then how far the run is."""
        self._starting.cancel()
        now = self._now()
        self._progress = advance(self._progress, event, now=now)
        line = announce(event, is_summarised=True)
        if line is not None:
            self._tell(line)
        elif isinstance(event, Stepped) and now - self._told_at >= PLAIN_SECONDS:
            self._tell(status_line(self._progress))
            self._told_at = now

    def _tell(self, line: str) -> None:
        print(line, file=self._stream, flush=True)
