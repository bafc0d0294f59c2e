"""Runs a worker as a separate process on this machine, and passes on its output and the signals it gets."""

import os
import platform
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import IO, Protocol

from burnish.early_signals import end_at_once
from burnish.launch.module_path import module_path
from burnish.launch.openmp import openmp_settings

_FORWARDED = (signal.SIGTERM, signal.SIGINT)
_TUNABLES = "GLIBC_TUNABLES"
_KEEP = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184"
"""Take all memory from the heap and keep what is freed for the next step.

By default glibc gives every large block back to the system when it is freed, and each step of training pays for
fetching the same pages again: some 15,000 page faults a step for a network of 22 million parameters.
"""


class WorkerProcess(Protocol):
    """A worker as its starter sees it; a `Popen` is one."""

    stdout: IO[str] | None

    def send_signal(self, number: int, /) -> None:
        """Send it a signal; one that has ended is spared."""
        ...

    def wait(self) -> int:
        """Wait until it has ended, and give its exit code."""
        ...


def run_worker(
    argv: Sequence[str],
    *,
    on_line: Callable[[str], None],
    env: Mapping[str, str] | None = None,
    start: Callable[..., WorkerProcess] | None = None,
) -> int:
    """Run `python -m <argv…>`, give each line it prints to `on_line`, and return its exit code.

    With `start`, the worker is started by that.
    """
    with _forwarding() as forward_to:
        process = (start or start_worker)(argv, env=env)
        assert process.stdout is not None
        try:
            forward_to(process)
            for line in process.stdout:
                on_line(line)
            return process.wait()
        finally:
            # Whatever went wrong on this side, the worker's pipe closes, and it saves and stops by itself.
            process.stdout.close()


def start_worker(
    argv: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: int | None = None
) -> subprocess.Popen[str]:
    """Start `python -m <argv…>` in the surroundings that every worker on this machine gets."""
    return subprocess.Popen(
        [sys.executable, "-m", *argv],
        stdin=stdin,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",  # a library may print what is no UTF-8
        env=worker_environment(env),
        start_new_session=True,  # or Ctrl-C would reach it twice: from the terminal and from us
    )


def worker_environment(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Give all variables of a worker: those of this process, those that are asked for, and what suits this machine."""
    asked = {**os.environ, **(env or {})}
    return {**allocator_settings(asked), **openmp_settings(asked), **asked, **module_path(asked)}


@contextmanager
def _forwarding() -> Iterator[Callable[[WorkerProcess], None]]:
    """Pass signals on to a process, from before it is there: what comes too early is sent to it then."""
    started: list[WorkerProcess] = []
    early: list[int] = []

    def forward(number: int, frame: FrameType | None) -> None:
        for process in started:
            process.send_signal(number)  # which one that has ended is spared
        if not started:
            early.append(number)
        asked = before[signal.Signals(number)]
        if callable(asked) and asked not in (signal.default_int_handler, end_at_once):
            asked(number, frame)  # whoever listens here besides, such as a drill of several workers

    def forward_to(process: WorkerProcess) -> None:
        started.append(process)
        for number in early:
            process.send_signal(number)

    before = {number: signal.getsignal(number) for number in _FORWARDED}
    if threading.current_thread() is not threading.main_thread():
        yield forward_to
        return
    try:
        for number in _FORWARDED:
            signal.signal(number, forward)
        yield forward_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def allocator_settings(environment: Mapping[str, str], *, libc: str | None = None) -> dict[str, str]:
    """Give the variables to add; none where the user chose an allocator or its settings, or the libc is another."""
    chosen = {_TUNABLES, "LD_PRELOAD", *(name for name in environment if name.startswith("MALLOC_"))}
    if (libc if libc is not None else platform.libc_ver()[0]) != "glibc" or chosen & environment.keys():
        return {}
    return {_TUNABLES: _KEEP}
