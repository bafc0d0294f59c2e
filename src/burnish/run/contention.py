"""Notices CPU contention: how long the threads of this process wait for a core that other programs use."""

import time
from collections.abc import Callable
from pathlib import Path

from burnish.spec.events import Stepped, TrackedEvent

_WINDOW_SECONDS = 30.0
_WORTH_SAYING = 0.25
"""Threads of the run itself get in each other's way a little: feeding, saving, the last of a batch."""
_TASKS = Path("/proc/self/task")


class ContentionWatch:
    """Watches the steps of a run and notes, once, that it is slowed down by other programs."""

    def __init__(
        self,
        note: Callable[[str], None],
        *,
        now: Callable[[], float] = time.monotonic,
        waited: Callable[[], float | None] | None = None,
    ) -> None:
        self._note = note
        self._now = now
        self._waited = waited or waited_seconds
        self._began: tuple[float, float] | None = None
        self._is_over = False

    def emit(self, event: TrackedEvent) -> None:
        """Look at the clock after each step; the first one only begins a window, because it also loads and compiles."""
        if self._is_over or not isinstance(event, Stepped):
            return
        moment = self._now()
        if self._began is not None and moment - self._began[0] < _WINDOW_SECONDS:
            return
        waited = self._waited()
        if waited is None:
            self._is_over = True
            return
        if self._began is not None:
            num_waiting = (waited - self._began[1]) / (moment - self._began[0])
            if num_waiting > _WORTH_SAYING:
                self._is_over = True
                seconds = moment - self._began[0]
                waiting = f"{num_waiting:.1f} threads of this run were waiting for a free core on average"
                self._note(
                    f"other programs are using the processor: in the last {seconds:.0f} s, {waiting}, "
                    "so it is slower than it could be"
                )
        self._began = (moment, waited)

    def close(self) -> None:
        """Keep nothing open."""


def waited_seconds(tasks: Path = _TASKS) -> float | None:
    """Sum what the live threads of this process have spent runnable without running; None where the system cannot say.

    The second number of `schedstat` is that time in nanoseconds.
    """
    total, is_known = 0, False
    for task in tasks.glob("*/schedstat"):
        try:
            total += int(task.read_text().split()[1])
            is_known = True
        except (OSError, ValueError, IndexError):
            continue  # the thread has ended meanwhile, or this kernel keeps no such statistics
    return total / 1e9 if is_known else None
