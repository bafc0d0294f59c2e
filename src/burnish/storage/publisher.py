"""Uploads in another thread while a run lasts, waits for a bucket that is away, and at the end for the rest."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType

from burnish.errors import BurnishError, StorageError
from burnish.storage.lease import BEAT_SECONDS, Lease
from burnish.storage.mirror import Mirror

_PASS_SECONDS = 2.0
_LONGEST_WAIT_SECONDS = 30.0
_TELL_SECONDS = 10.0
STOP = "STOP"


@dataclass
class Publisher:
    """Copies of one run, uploaded beside it; an upload that fails is tried again, and never touches the run."""

    mirrors: Sequence[Mirror]
    tell: Callable[[str], None]
    lease: Lease | None = None
    wait_seconds: float = 600.0
    """How long the end of a run waits for what is not uploaded yet."""
    fault: str | None = None
    """Why the last upload failed; None when it did not."""
    is_lost: bool = False
    """Whether another writer took over."""
    _ending: threading.Event = field(default_factory=threading.Event)
    _released: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> "Publisher":
        work = [self._keep_publishing, *([self._keep_beating] if self.lease else [])]
        self._threads = [threading.Thread(target=each, name="burnish-upload", daemon=True) for each in work]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ending.set()
        if kind is not None and not issubclass(kind, BurnishError):
            self._released.set()
            return  # like Ctrl-C, which wants the prompt back; the copy here is uploaded the next time
        self._threads[0].join()
        try:
            self.finish()
        except StorageError:
            if error is None:
                raise
            self.tell(f"not all of it is uploaded: {self.fault}")
        finally:
            self._released.set()

    def finish(self) -> None:
        """Upload the rest, trying for as long as it may take; raise StorageError if some of it is left."""
        began = told = time.monotonic()
        while not self.is_lost:
            if self._publish(is_last=True) and not self.is_lost:
                # The lease is given back when no beat is on its way, which would take it again.
                self._released.set()
                if self.lease is not None:
                    self._threads[1].join()
                    with suppress(BurnishError, OSError):  # the next writer waits a minute instead
                        self.lease.beat(is_released=True)
                return
            now = time.monotonic()
            if now - began >= self.wait_seconds:
                break
            if now - told >= _TELL_SECONDS or told == began:
                told = now
                self.tell(f"{self._pending():,} files are still to be uploaded ({self.fault}); trying again")
            time.sleep(min(_PASS_SECONDS, self.wait_seconds))
        raise StorageError(self.fault or "another writer took over")

    def _keep_publishing(self) -> None:
        wait = _PASS_SECONDS
        while not self._ending.wait(wait) and not self.is_lost:
            is_away = self.fault is not None
            if self._publish():
                wait = _PASS_SECONDS
                if is_away:
                    self.tell("uploads work again")
            else:
                wait = min(2 * wait, _LONGEST_WAIT_SECONDS)
                if not is_away:
                    self.tell(f"{self.fault}; training goes on, and it is uploaded later")

    def _publish(self, *, is_last: bool = False) -> bool:
        try:
            # After a time without the bucket, what is there may be another machine's by now.
            if self.fault is not None and self.lease is not None and self.lease.is_lost():
                self.is_lost = True
                return False
            for mirror in self.mirrors:
                mirror.publish(is_last=is_last)
        except (BurnishError, OSError) as error:
            self.fault = str(error)
            return False
        self.fault = None
        return True

    def _keep_beating(self) -> None:
        assert self.lease is not None
        while not self._released.wait(BEAT_SECONDS):  # also while the end of a run uploads what is left
            try:
                self.is_lost = self.lease.is_lost()
                if self.is_lost:
                    self._stop_run(f"another machine took {self.lease.folder.address} over")
                    return
                self.lease.beat()
                if not self._ending.is_set() and self.lease.folder.has(STOP):
                    self.lease.folder.delete([STOP])
                    self._stop_run("asked to stop")
            except (BurnishError, OSError):
                continue  # away; the next beat may come through

    def _stop_run(self, why: str) -> None:
        self.tell(f"{why}; the run saves and stops")
        (self.mirrors[0].local / STOP).touch()

    def _pending(self) -> int:
        return sum(mirror.pending() for mirror in self.mirrors)
