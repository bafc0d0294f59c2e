"""Keeps a second process out of a run directory, and lets nobody who died keep it."""

import fcntl
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from burnish.errors import CheckpointError
from burnish.run.directory import HEARTBEAT_SECONDS, RunDirectory


@contextmanager
def held(directory: RunDirectory) -> Iterator[None]:
    """Hold a run for this process; refuse when another one does."""
    with _opened(directory) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise _refusal(directory) from None
        _refuse_other_hosts(directory)
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


def _opened(directory: RunDirectory) -> TextIO:
    try:
        return open(directory.path / ".lock", "a")  # closed by whoever asked
    except OSError as error:
        raise CheckpointError(
            f"{directory.path} cannot be written to ({error.strerror or error}), so no run can go on in it"
        ) from error


def _beat(directory: RunDirectory, stop: threading.Event) -> None:
    while not stop.wait(HEARTBEAT_SECONDS):
        with suppress(CheckpointError):  # a full disk may have room again by the next beat
            directory.write_lock(now=time.time())


def _refuse_other_hosts(directory: RunDirectory) -> None:
    # The kernel's lock speaks for this host alone; on a shared file system another host is known by its heartbeat.
    lock = directory.read_lock()
    if lock is not None and lock.host != socket.gethostname() and lock.is_held(now=time.time()):
        raise _refusal(directory)


def _refusal(directory: RunDirectory) -> CheckpointError:
    lock = directory.read_lock()
    who = f"process {lock.pid} on {lock.host}" if lock else "another process"
    return CheckpointError(
        f"{directory.path} is being trained by {who}; wait for it, stop it with `touch {directory.stop_file}`, "
        "or train into another directory"
    )
