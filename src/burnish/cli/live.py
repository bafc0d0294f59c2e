"""A live bar at the foot of the terminal, driven by events alone."""

from time import monotonic
from typing import Self

from rich.console import Console as Terminal
from rich.progress import BarColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as Bar

from burnish.cli.progress import Progress, advance, announce, status_line
from burnish.spec.events import Evaluated, Event, Noted


class Live:
    """Draw the bar, and print above it what deserves a line."""

    def __init__(self, terminal: Terminal | None = None) -> None:
        self._terminal = terminal or Terminal(stderr=True, highlight=False)
        self._bar = Bar(
            SpinnerColumn(finished_text=" "),
            BarColumn(bar_width=24),
            TextColumn("{task.description}", markup=False),
            console=self._terminal,
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None)
        self._progress = Progress()

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def watch(self, event: Event) -> None:
        """Move the bar, and print the event's own line if it has one."""
        self._progress = advance(self._progress, event, now=monotonic())
        line = announce(event, is_summarised=True)
        if line is not None:
            self._terminal.print(line, markup=False, highlight=False, style=_style(event))
        has_steps = self._progress.stepped_at is not None
        self._bar.update(
            self._task,
            total=1.0 if has_steps else None,
            completed=self._progress.fraction,
            description=status_line(self._progress) if has_steps else "working",
        )


def _style(event: Event) -> str:
    match event:
        case Evaluated(is_best=True):
            return "green"
        case Noted():
            return "yellow"
        case _:
            return "none"
