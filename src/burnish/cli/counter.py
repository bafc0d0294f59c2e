"""Shows how much of a known amount of work is done."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TextIO

from burnish.cli.console import PLAIN_SECONDS

Advance = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


@contextmanager
def counting(label: str, *, is_silent: bool = False) -> Iterator[Advance]:
    """Give a callable that shows progress on standard error for as long as the context lasts."""
    if is_silent:
        yield lambda done, total: None
    elif sys.stderr.isatty():
        with _live(label) as advance:
            yield advance
    else:
        yield plain_counter(label, stream=sys.stderr)


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


def plain_counter(label: str, *, stream: TextIO, now: Callable[[], float] = monotonic) -> Advance:
    """Tell of progress in plain lines, every few seconds and at the end."""
    told_at = now()

    def advance(done: int, total: int) -> None:
        nonlocal told_at
        if done >= total or now() - told_at >= PLAIN_SECONDS:
            print(f"{label} {done:,}/{total:,}", file=stream, flush=True)
            told_at = now()

    return advance


@contextmanager
def _live(label: str) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
