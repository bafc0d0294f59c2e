"""Keeps at writing when a disk is full: gives up what may go, else tells, waits and tries again."""

import errno
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from burnish.errors import CheckpointError

T = TypeVar("T")

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FIRST_WAIT_SECONDS = 1
_LONGEST_WAIT_SECONDS = 60


def is_full(error: BaseException) -> bool:
    """Tell whether an error, or the one behind it, says that a disk or a quota is full."""
    cause = error if isinstance(error, OSError) else error.__cause__
    return isinstance(cause, OSError) and cause.errno in _FULL


def free_bytes(path: Path) -> int:
    """Tell how much the disk below a path has left."""
    return shutil.disk_usage(path).free


@dataclass(frozen=True)
class DiskSpace:
    """Where room is wanted, for how long one waits for it, and who is told."""

    path: Path
    wait_seconds: float
    should_give_up: Callable[[], bool]
    """Is asked every second of a pause."""
    free: Callable[[Path], int] = free_bytes
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def write(
        self,
        write: Callable[[], T],
        *,
        needed: int,
        what: str = "a checkpoint",
        give_up_something: Callable[[], str | None],
        tell: Callable[[str], None],
    ) -> T:
        """Write until it succeeds; `give_up_something` says in a sentence what it deleted, None when nothing may go."""
        pause = _Pause(self, what, needed, tell)
        while True:
            try:
                return write()
            except (OSError, CheckpointError) as error:
                if not is_full(error):
                    raise
            deleted = give_up_something()
            if deleted is None:
                pause.wait()
            else:
                tell(deleted)


@dataclass
class _Pause:
    room: DiskSpace
    what: str
    needed: int
    tell: Callable[[str], None]
    _began: float | None = None
    _seconds: int = field(default=_FIRST_WAIT_SECONDS)

    def wait(self) -> None:
        """Come back when another try has a chance; refuse when nobody wants to wait any longer."""
        if self._began is None:
            self._began = self.room.now()
            self.tell(f"{self._missing()}; training waits up to {self.room.wait_seconds / 60:g} minutes for room")
        self._sleep()
        # A quota does not show in the free bytes; there it comes to trying.
        while self.room.free(self.room.path) < self.needed:
            self._sleep()

    def _sleep(self) -> None:
        for _ in range(self._seconds):
            assert self._began is not None
            waited = self.room.now() - self._began
            if waited >= self.room.wait_seconds or self.room.should_give_up():
                raise CheckpointError(
                    f"{self._missing()}; the run waited {waited / 60:.1f} minutes (train.disk_wait). "
                    "Free some space and resume it: it continues from its newest checkpoint"
                )
            self.room.sleep(1)
        self._seconds = min(2 * self._seconds, _LONGEST_WAIT_SECONDS)

    def _missing(self) -> str:
        free = self.room.free(self.room.path)
        return f"{self.room.path} has no room for {self.what}: it takes {self.needed:,} bytes and {free:,} are free"
