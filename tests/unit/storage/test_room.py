"""A full disk is waited for, not died of."""

import errno
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from burnish.errors import CheckpointError
from burnish.storage.room import DiskSpace, is_full


@dataclass
class Disk:
    """A disk with a clock of its own: each second of waiting, someone may free some of it."""

    free: int = 0
    freed_each_second: int = 0
    seconds: float = 0.0
    told: list[str] = field(default_factory=list)
    is_stopped: bool = False

    def room(self, wait_seconds: float) -> DiskSpace:
        return DiskSpace(
            Path("/data"),
            wait_seconds,
            lambda: self.is_stopped,
            free=lambda _path: self.free,
            now=lambda: self.seconds,
            sleep=self.sleep,
        )

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds
        self.free += self.freed_each_second

    def write(self) -> str:
        if self.free < 100:
            raise OSError(errno.ENOSPC, "No space left on device")
        return "written"


def write(disk: Disk, *, wait_seconds: float, deletions: list[str] | None = None) -> str:
    rest = iter(deletions or [])

    def delete() -> str | None:
        sentence = next(rest, None)
        disk.free += 60 if sentence else 0
        return sentence

    return disk.room(wait_seconds).write(disk.write, needed=100, give_up_something=delete, tell=disk.told.append)


def test_with_room_it_writes_at_once() -> None:
    disk = Disk(free=100)
    assert write(disk, wait_seconds=0) == "written"
    assert (disk.seconds, disk.told) == (0, [])


def test_what_may_go_is_deleted_before_anyone_waits() -> None:
    disk = Disk()
    assert write(disk, wait_seconds=0, deletions=["deleted 1", "deleted 2"]) == "written"
    assert (disk.seconds, disk.told) == (0, ["deleted 1", "deleted 2"])


def test_it_tells_once_what_is_missing_and_goes_on_when_room_appears() -> None:
    disk = Disk(free=7, freed_each_second=3)
    assert write(disk, wait_seconds=3600) == "written"
    assert disk.told == [
        "/data has no room for a checkpoint: it takes 100 bytes and 7 are free; "
        "training waits up to 60 minutes for room"
    ]
    assert 31 <= disk.seconds <= 63


def test_after_the_longest_wait_it_refuses_with_the_figures() -> None:
    disk = Disk(free=7)
    with pytest.raises(CheckpointError, match=r"takes 100 bytes and 7 are free; the run waited 10.0 minutes"):
        write(disk, wait_seconds=600)
    assert disk.seconds == 600


def test_a_stop_request_ends_the_wait() -> None:
    disk = Disk()
    disk.is_stopped = True
    with pytest.raises(CheckpointError, match=r"waited 0.0 minutes"):
        write(disk, wait_seconds=600)


def test_a_quota_that_does_not_show_in_the_free_bytes_is_tried_again() -> None:
    disk = Disk(free=10**9)
    answers = iter([OSError(errno.EDQUOT, "quota"), OSError(errno.EDQUOT, "quota"), None])

    def attempt() -> str:
        error = next(answers)
        if error:
            raise error
        return "written"

    room = disk.room(60)
    assert room.write(attempt, needed=1, give_up_something=lambda: None, tell=disk.told.append) == "written"
    assert (disk.seconds, len(disk.told)) == (3, 1)


def test_other_errors_rise_at_once() -> None:
    def attempt() -> str:
        raise PermissionError(errno.EACCES, "no")

    with pytest.raises(PermissionError):
        Disk().room(60).write(attempt, needed=1, give_up_something=lambda: "x", tell=lambda _: None)
    assert not is_full(ValueError())
