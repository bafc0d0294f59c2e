"""Keeps a second process out of a run directory, and lets nobody who died keep it."""

import fcntl
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from burnish.errors import CheckpointError
from burnish.run.record.directory import HEARTBEAT_SECONDS, STALE_SECONDS, RunDirectory

_LOOK_SECONDS = 2.0
"""How often the heartbeat of another host is looked at."""


class Held(CheckpointError):
    """Refuse a directory that another process trains in."""


@contextmanager
def claimed(
    directory: RunDirectory, settle: Callable[[], object], *, tell: Callable[[str], None] = lambda _sentence: None
) -> Iterator[None]:
    """Hold a run for the process that starts its worker: the plan that is settled here is the one the worker finds."""
    with unclaimed(directory, tell=tell):
        settle()
        directory.write_lock(now=time.time(), is_claim=True)
    try:
        yield
    finally:
        lock = directory.read_lock()
        if lock is not None and lock.is_claim and lock.pid == os.getpid():
            directory.lock.unlink(missing_ok=True)  # no worker took it over


@contextmanager
def unclaimed(directory: RunDirectory, *, tell: Callable[[str], None] = lambda _sentence: None) -> Iterator[None]:
    """Keep everybody out of a directory for a moment; refuse when somebody trains in it or is about to."""
    with _locked(directory, tell=tell, sleep=time.sleep):
        lock = directory.read_lock()
        # Between a claim and its worker, nobody has the kernel's lock: there the claim keeps others out.
        if lock is not None and lock.is_claim and lock.pid != os.getpid() and lock.is_held(now=time.time()):
            raise _refusal(directory)
        yield


@contextmanager
def held(
    directory: RunDirectory,
    *,
    tell: Callable[[str], None] = lambda _sentence: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Hold a run for this process; refuse when another one does."""
    with _locked(directory, tell=tell, sleep=sleep):
        stop = threading.Event()
        heart = threading.Thread(target=_beat, args=(directory, stop), daemon=True)
        directory.write_lock(now=time.time())
        heart.start()
        try:
            yield
        finally:
            stop.set()
            heart.join()
            directory.lock.unlink(missing_ok=True)


@contextmanager
def _locked(directory: RunDirectory, *, tell: Callable[[str], None], sleep: Callable[[float], None]) -> Iterator[None]:
    with _lock_file(directory):
        _observe_other_host(directory, tell=tell, sleep=sleep)
        yield


def _lock_file(directory: RunDirectory) -> TextIO:
    """Take the kernel's lock on a file of the directory; whoever closes the file gives it back."""
    path = directory.path / ".lock"
    while True:
        try:
            directory.path.mkdir(parents=True, exist_ok=True)
            file = open(path, "a")  # noqa: SIM115  # closed by the caller
        except OSError as error:
            raise CheckpointError(
                f"{directory.path} cannot be written to ({error.strerror or error}); name another folder with --dir"
            ) from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                return file
        except FileNotFoundError:
            pass
        except OSError:
            file.close()
            raise _refusal(directory) from None
        file.close()  # the directory was moved or removed since: this lock keeps nobody out of the new one


def _beat(directory: RunDirectory, stop: threading.Event) -> None:
    while not stop.wait(HEARTBEAT_SECONDS):
        with suppress(CheckpointError):  # a full disk may have room again by the next beat
            directory.write_lock(now=time.time())


def _observe_other_host(
    directory: RunDirectory, *, tell: Callable[[str], None], sleep: Callable[[float], None]
) -> None:
    """Refuse if a process on another host holds the run, which shows by its heart beating while it is watched.

    The kernel's lock speaks for this host alone. A container that is restarted has another name each time, so a
    heartbeat that is merely fresh proves nothing.
    """
    lock = directory.read_lock()
    if lock is None or lock.host == socket.gethostname() or not lock.is_held(now=time.time()):
        return
    tell(
        f"process {lock.pid} on {lock.host} was training in {directory.path} moments ago; waiting up to "
        f"{STALE_SECONDS:.0f} s to see whether it still does"
    )
    for _ in range(int(STALE_SECONDS / _LOOK_SECONDS)):
        sleep(_LOOK_SECONDS)
        seen = directory.read_lock()
        if seen is None or not seen.is_held(now=time.time()):
            return
        if seen != lock:
            raise _refusal(directory)


def _refusal(directory: RunDirectory) -> Held:
    lock = directory.read_lock()
    who = f"process {lock.pid} on {lock.host}" if lock else "another process"
    return Held(
        f"{directory.path} is being trained by {who}; wait for it, stop it with `touch {directory.stop_file}`, "
        "or train into another directory"
    )
