"""Whoever watches a run cannot end it, and a full disk only makes it wait."""

import errno
from pathlib import Path

import pytest

from burnish.errors import MissingExtra
from burnish.run.record.events_file import EventsFile
from burnish.run.sinks import EventDispatcher
from burnish.spec.events import Event, Noted, Saved
from burnish.storage.room import DiskSpace


class Faulty:
    """A tracker that works for a while."""

    def __init__(self, good_for: int) -> None:
        self.left = good_for
        self.seen: list[Event] = []

    def emit(self, event: Event) -> None:
        if not self.left:
            raise ConnectionError("the server is gone")
        self.left -= 1
        self.seen.append(event)

    def close(self) -> None:
        self.emit(Noted(0, "closing"))


def test_a_tracker_that_fails_is_told_of_once_and_the_others_go_on(tmp_path: Path) -> None:
    heard: list[Event] = []
    faulty, good = Faulty(1), Faulty(99)
    sinks = EventDispatcher(EventsFile(tmp_path / "events.jsonl"), 1, heard.append, [faulty, good])
    for step in range(4):
        sinks.emit(Saved(step, "x"))
    sinks.close()
    notes = [event.message for event in heard if isinstance(event, Noted)]
    assert notes == ["Faulty failed and is ignored from now on: ConnectionError: the server is gone"]
    assert [event.step for event in good.seen if isinstance(event, Saved)] == [0, 1, 2, 3]
    assert len(faulty.seen) == 1


def test_a_tracker_that_fails_at_the_end_harms_nothing(tmp_path: Path) -> None:
    sinks = EventDispatcher(EventsFile(tmp_path / "events.jsonl"), 1, lambda event: None, [Faulty(1)])
    sinks.emit(Saved(1, "x"))
    sinks.close()
    assert len(list(EventsFile(tmp_path / "events.jsonl").read())) == 2


def test_a_full_disk_is_waited_for_and_no_line_is_lost_torn_or_doubled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from burnish.run.record import events_file

    whole, faults = events_file._write_whole, iter([False, True, True, False])

    def tight(file: object, line: bytes) -> None:
        if next(faults, False):
            file.write(line[:10])  # type: ignore[attr-defined]
            raise OSError(errno.ENOSPC, "No space left on device")
        whole(file, line)  # type: ignore[arg-type]

    monkeypatch.setattr(events_file, "_write_whole", tight)
    heard: list[Event] = []
    room = DiskSpace(tmp_path, 60, lambda: False, free=lambda path: 10**6, sleep=lambda seconds: None)
    sinks = EventDispatcher(EventsFile(tmp_path / "events.jsonl"), 1, heard.append, (), room)
    for step in range(3):
        sinks.emit(Saved(step, "x"))
    sinks.close()
    assert [record.event.step for record in EventsFile(tmp_path / "events.jsonl").read()] == [0, 1, 2]
    assert sum(isinstance(event, Noted) and "has no room for another event" in event.message for event in heard) == 1


class Unready(Faulty):
    """A tracker that cannot begin."""

    def __init__(self, error: Exception) -> None:
        super().__init__(0)
        self.error = error

    def open(self, directory: Path, *, name: str) -> Faulty:
        raise self.error


def test_a_tracker_that_cannot_begin_is_told_of_and_the_run_goes_on(tmp_path: Path) -> None:
    heard: list[Event] = []
    sinks = EventDispatcher(EventsFile(tmp_path / "events.jsonl"), 1, heard.append)
    sinks.watch(Unready(OSError(errno.ENOSPC, "No space left on device")), tmp_path, name="x")
    sinks.emit(Saved(1, "x"))
    assert [event.message for event in heard if isinstance(event, Noted)] == [
        "Unready could not start and is ignored: OSError: [Errno 28] No space left on device"
    ]


def test_an_extra_that_a_tracker_lacks_is_refused_at_the_start(tmp_path: Path) -> None:
    sinks = EventDispatcher(EventsFile(tmp_path / "events.jsonl"), 1, lambda event: None)
    with pytest.raises(MissingExtra, match="install it"):
        sinks.watch(Unready(MissingExtra("install it")), tmp_path, name="x")
