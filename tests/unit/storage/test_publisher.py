import threading
import time
from pathlib import Path
from uuid import uuid4

import pytest

from burnish.errors import StorageError
from burnish.storage import lease, publisher
from burnish.storage.mirror import Mirror
from burnish.storage.publisher import Publisher
from burnish.storage.remote import Folder

_WAIT_SECONDS = 20.0


class SlowBeats(lease.Lease):
    """A lease whose beats take as long as the test says; the release does not."""

    def hold(self, is_on_its_way: threading.Event, may_end: threading.Event) -> "SlowBeats":
        object.__setattr__(self, "events", (is_on_its_way, may_end))
        return self

    def beat(self, *, is_released: bool = False) -> None:
        if not is_released:
            is_on_its_way, may_end = self.events  # type: ignore[attr-defined]
            is_on_its_way.set()
            may_end.wait(_WAIT_SECONDS)
        super().beat(is_released=is_released)


def test_a_beat_that_is_on_its_way_does_not_take_a_released_lease_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "BEAT_SECONDS", 0.01)
    (tmp_path / "events.jsonl").write_text("x")
    folder = Folder(f"memory://{uuid4().hex}/run")
    is_on_its_way, may_end = threading.Event(), threading.Event()
    held = SlowBeats(folder, lease.take(folder, "one").number, "one").hold(is_on_its_way, may_end)
    threading.Timer(0.5, may_end.set).start()
    with Publisher([Mirror(tmp_path, folder)], lambda _sentence: None, lease=held) as uploads:
        assert is_on_its_way.wait(_WAIT_SECONDS)
    for thread in uploads._threads:
        thread.join(_WAIT_SECONDS)
    assert b'"is_released": true' in folder.read(lease._name(held.number))


def test_the_lease_is_kept_while_the_end_of_a_run_is_uploaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "BEAT_SECONDS", 0.01)
    (tmp_path / "events.jsonl").write_text("x")
    folder = Folder(f"memory://{uuid4().hex}/run")
    held = lease.take(folder, "one")

    class Slow(Mirror):
        def publish(self, *, is_last: bool = False) -> None:
            if is_last:
                before = folder.read(lease._name(held.number))
                deadline = time.monotonic() + _WAIT_SECONDS
                while folder.read(lease._name(held.number)) == before:
                    assert time.monotonic() < deadline, "no beat while the rest was uploaded"
                    time.sleep(0.01)
            super().publish(is_last=is_last)

    with Publisher([Slow(tmp_path, folder)], lambda _sentence: None, lease=held):
        pass
    assert b'"is_released": true' in folder.read(lease._name(held.number))


def test_after_a_time_without_the_bucket_nothing_is_written_over_another_writer_s_files(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("mine")
    folder = Folder(f"memory://{uuid4().hex}/run")
    held = lease.take(folder, "one")
    uploads = Publisher([Mirror(tmp_path, folder)], lambda _sentence: None, lease=held, fault="it was away")
    lease.take(folder, "other", sleep=lambda _seconds: None)
    with pytest.raises(StorageError):
        uploads.finish()
    assert uploads.is_lost
    assert not folder.has("events.jsonl")
