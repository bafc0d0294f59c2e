"""Keeps a second writer away from a folder in a bucket: numbered objects, of which the highest holds it."""

import json
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from burnish.errors import CheckpointError, StorageError
from burnish.storage.remote import Folder, keep_trying

PREFIX = ".burnish/"
BEAT_SECONDS = 10.0
STALE_SECONDS = 60.0
"""A lease that was not written for so long is held by nobody."""
_LOOK_SECONDS = 5.0
_NAME = re.compile(r"\.burnish/lease-(\d{8})\.json")


class _HalfWritten(StorageError):
    """A lease on a file system, where a writer may be at it."""


@dataclass(frozen=True)
class Lease:
    """Who writes: a copy on one machine, until a higher number is there.

    Taking over creates the next number, which stores with preconditions let one writer do. On others, two that begin
    within the same second may both believe they hold it until the next beat of the lower one.
    """

    folder: Folder
    number: int
    owner: str

    def beat(self, *, is_released: bool = False) -> None:
        """Write that the holder lives, or that it is done."""
        from socket import gethostname

        content = {"owner": self.owner, "host": gethostname(), "pid": os.getpid(), "time": time.time()}
        text = json.dumps({**content, "is_released": is_released})
        self.folder.write(_name(self.number), text.encode())

    def is_lost(self) -> bool:
        """Tell whether another writer took over."""
        return max(_numbers(self.folder), default=0) > self.number


def newest_owner(folder: Folder) -> str | None:
    """Tell whose copy a folder was last written from."""
    held = _read(folder, max(_numbers(folder), default=0))
    return str(held["owner"]) if held else None


def take(
    folder: Folder,
    owner: str,
    *,
    tell: Callable[[str], None] = lambda _sentence: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Lease:
    """Hold a folder for a copy on this machine; refuse when another writer's heart beats while it is watched."""
    last = max(keep_trying(lambda: _numbers(folder)), default=0)
    held = _read(folder, last)
    if held is not None and held["owner"] != owner and not held.get("is_released"):
        _observe(folder, last, held, tell=tell, sleep=sleep)
    lease = Lease(folder, last + 1, owner)
    try:
        keep_trying(lambda: folder.write(_name(lease.number), json.dumps({"owner": owner}).encode(), is_new=True))
    except FileExistsError as error:
        if (_read(folder, lease.number) or {}).get("owner") != owner:  # else our own try, whose answer was lost
            raise _refusal(folder, {}) from error
    lease.beat()
    folder.delete(_name(number) for number in _numbers(folder) if number < lease.number)
    return lease


def _observe(
    folder: Folder,
    number: int,
    held: Mapping[str, Any],
    *,
    tell: Callable[[str], None],
    sleep: Callable[[float], None],
) -> None:
    """Watch for a heartbeat: clocks of two machines may differ, so only a change while one looks proves life."""
    try:
        age = time.time() - float(held.get("time", 0.0))
    except (TypeError, ValueError):
        age = STALE_SECONDS
    if age >= STALE_SECONDS:
        return
    where = f"{_holder(held)} wrote to {folder.address} moments ago"
    tell(f"{where}; waiting up to {STALE_SECONDS:.0f} s to see whether it still does")
    for _ in range(int(STALE_SECONDS / _LOOK_SECONDS)):
        sleep(_LOOK_SECONDS)
        seen = _read(folder, max(_numbers(folder), default=number))
        if seen is None or seen.get("is_released"):
            return
        if seen != held:
            raise _refusal(folder, seen)


def _numbers(folder: Folder) -> list[int]:
    inside = Folder(f"{folder.address}/{PREFIX.rstrip('/')}").listing()
    found = (_NAME.fullmatch(f"{PREFIX}{name}") for name in inside)
    return [int(match[1]) for match in found if match]


def _read(folder: Folder, number: int) -> dict[str, Any] | None:
    """Read a lease; None where there is none. While the bucket is away it may be held, so that is an error."""
    if number == 0:
        return None
    try:
        content = keep_trying(lambda: _parse(folder.read(_name(number))))
    except _HalfWritten:
        return None
    except StorageError:
        if keep_trying(lambda: folder.has(_name(number))):
            raise
        return None
    return content if isinstance(content, dict) and isinstance(content.get("owner"), str) else None


def _parse(content: bytes) -> object:
    try:
        return json.loads(content)
    except ValueError as error:
        raise _HalfWritten(str(error)) from error


def _name(number: int) -> str:
    return f"{PREFIX}lease-{number:08d}.json"


def _holder(held: Mapping[str, Any]) -> str:
    return f"process {held.get('pid', '?')} on {held.get('host', 'another machine')}"


def _refusal(folder: Folder, held: Mapping[str, Any]) -> CheckpointError:
    return CheckpointError(
        f"{folder.address} is being written by {_holder(held)}; wait for it, stop it with "
        f"`burnish runs stop {folder.address}`, or train into another address"
    )
