"""Who watches work for the user: a live bar on a terminal, plain lines elsewhere, JSON lines for programs."""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from types import FrameType
from typing import Any, Self, TextIO

from burnish.cli.progress import Progress, advance, announce, status_line
from burnish.cli.wrapping import wrap_text
from burnish.spec.events import Evaluated, Event, Noted, Stepped

PLAIN_SECONDS = 5.0
"""Plain output reports progress at most this often."""

STARTING_SECONDS = 1.0
"""How long a worker may start in silence."""

_WIDE = 110
"""Columns of a terminal that has room for a longer bar."""
_STOPPING = "stopping after this step, with the state saved; Ctrl-C again stops at once"

Count = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


class Console:
    """Watches a run's events and shows nothing but that Ctrl-C was heard.

    It is a context, so that a live bar always goes away.
    """

    def __enter__(self) -> Self:
        self._interrupt_before: Any = None
        if threading.current_thread() is threading.main_thread():
            self._interrupt_before = signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        if self._interrupt_before is not None:
            signal.signal(signal.SIGINT, self._interrupt_before)

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        """Say at once that the run will stop: until its step is over, nothing else would show it.

        While a worker runs, it gets the signal, and whoever passes it on calls this too.
        """
        is_passed_on = signal.getsignal(number) != self._on_interrupt
        if not is_passed_on:
            signal.default_int_handler(number, frame)
        # not `print`, which may be in the middle of a line when the signal comes
        with suppress(OSError):
            start = "\r\x1b[2K" if sys.stderr.isatty() else ""
            os.write(2, f"{start}{_STOPPING}\n".encode())

    def watch(self, event: Event) -> None:
        """Take one event."""


def console_for(*, is_json: bool = False, is_quiet: bool = False) -> Console:
    """Choose how to show a run from what the user asked and where standard error goes."""
    if is_json:
        return JsonConsole(sys.stdout)
    if is_quiet:
        return Console()
    return Live() if sys.stderr.isatty() else PlainLines(sys.stderr)


class JsonConsole(Console):
    """Writes each event as one JSON object a line, in the form of events.jsonl."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def watch(self, event: Event) -> None:
        from burnish.run.record.events_file import to_dict

        print(json.dumps(to_dict(event)), file=self._stream, flush=True)


class PlainLines(Console):
    """Writes lines without control codes: for logs, pipes and continuous integration."""

    def __init__(
        self,
        stream: TextIO,
        *,
        now: Callable[[], float] = monotonic,
        timer: Callable[..., threading.Timer] = threading.Timer,
    ) -> None:
        self._stream = stream
        self._now = now
        # only when it lasts, so that a config refused at once leaves nothing but its error
        self._starting = timer(STARTING_SECONDS, self._print, ("starting",))
        self._progress = Progress()
        self._shown_at = -PLAIN_SECONDS

    def __enter__(self) -> Self:
        super().__enter__()
        self._starting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._starting.cancel()
        super().__exit__()

    def watch(self, event: Event) -> None:
        self._starting.cancel()
        now = self._now()
        self._progress = advance(self._progress, event, now=now)
        line = announce(event, is_summarised=True)
        if line is not None:
            self._print(line)
        elif isinstance(event, Stepped) and now - self._shown_at >= PLAIN_SECONDS:
            self._print(status_line(self._progress))
            self._shown_at = now

    def _print(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


class Live(Console):
    """Draws a bar at the foot of the terminal, and prints above it what deserves a line."""

    def __init__(self, terminal: Any = None) -> None:
        from rich.console import Console as Terminal
        from rich.progress import BarColumn, SpinnerColumn, TextColumn
        from rich.progress import Progress as Bar

        self._terminal = terminal or Terminal(stderr=True, highlight=False)
        bar_width = 24 if self._terminal.width >= _WIDE else 10
        self._beside = bar_width + 4  # the bar, the spinner and the spaces between
        columns = (
            SpinnerColumn(finished_text=" "),
            BarColumn(bar_width=bar_width),
            TextColumn("{task.description}", markup=False),
        )
        self._bar = Bar(*columns, console=self._terminal, transient=True)
        self._task = self._bar.add_task("starting", total=None)
        self._progress = Progress()

    def __enter__(self) -> Self:
        super().__enter__()
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()
        super().__exit__()

    def watch(self, event: Event) -> None:
        self._progress = advance(self._progress, event, now=monotonic())
        columns = self._terminal.width
        line = announce(event, is_summarised=True, columns=columns)
        if line is not None:
            is_best = isinstance(event, Evaluated) and event.is_best
            style = "green" if is_best else "yellow" if isinstance(event, Noted) else "none"
            wrapped = wrap_text(line, columns=columns)
            self._terminal.print(wrapped, markup=False, highlight=False, style=style)
        has_steps = self._progress.stepped_at is not None
        self._bar.update(
            self._task,
            total=1.0 if has_steps else None,
            completed=self._progress.fraction,
            description=status_line(self._progress, columns=columns - self._beside) if has_steps else "working",
        )


@contextmanager
def counting(label: str, *, is_silent: bool = False) -> Iterator[Count]:
    """Show on standard error how much of a known amount of work is done, for as long as the context lasts."""
    if is_silent:
        yield lambda done, total: None
    elif sys.stderr.isatty():
        from rich.console import Console as Terminal
        from rich.progress import Progress as Bar

        with Bar(console=Terminal(stderr=True), transient=True) as bar:
            task = bar.add_task(label, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
    else:
        yield count_plainly(label, stream=sys.stderr)


def count_plainly(label: str, *, stream: TextIO, now: Callable[[], float] = monotonic) -> Count:
    """Count in plain lines, every few seconds and at the end."""
    shown_at = now()

    def count(done: int, total: int) -> None:
        nonlocal shown_at
        if done >= total or now() - shown_at >= PLAIN_SECONDS:
            print(f"{label} {done:,}/{total:,}", file=stream, flush=True)
            shown_at = now()

    return count


@contextmanager
def waiting(label: str) -> Iterator[None]:
    """Show on a terminal what is waited for, for as long as the context lasts."""
    if not sys.stderr.isatty():
        yield
        return
    print(f"{label} …", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
