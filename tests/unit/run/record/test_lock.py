"""One process a run."""

import fcntl
import json
import os
import socket
import threading
import time
from pathlib import Path
from typing import TextIO

import pytest

from burnish.errors import CheckpointError
from burnish.run.record.directory import RunDirectory
from burnish.run.record.lock import claimed, held


def write_lock(directory: RunDirectory, *, host: str, heartbeat: float, pid: int = 1, is_claim: bool = False) -> None:
    directory.lock.write_text(json.dumps({"pid": pid, "host": host, "heartbeat": heartbeat, "is_claim": is_claim}))


def test_it_is_held_inside_and_free_after(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    with held(directory):
        assert directory.status() == "running"
        with pytest.raises(CheckpointError, match="is being trained by process"), held(directory):
            pass
    assert not directory.lock.exists()
    with held(directory):
        pass


def test_a_lock_that_a_killed_process_left_is_taken_over(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    write_lock(directory, host=socket.gethostname(), heartbeat=time.time(), pid=2**22 - 1)
    with held(directory):
        assert directory.status() == "running"


def test_another_host_whose_heart_beats_while_it_is_watched_keeps_it(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    began = time.time()
    write_lock(directory, host="elsewhere", heartbeat=began)
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if sum(waited) >= 10:
            write_lock(directory, host="elsewhere", heartbeat=began + 10)

    with pytest.raises(CheckpointError, match="process 1 on elsewhere"), held(directory, sleep=sleep):
        pass
    assert 10 <= sum(waited) <= 12


def test_a_restart_under_another_host_name_waits_and_takes_over(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    write_lock(directory, host="the-container-before", heartbeat=time.time())
    waited: list[float] = []
    told: list[str] = []
    with held(directory, tell=told.append, sleep=waited.append):
        assert directory.status() == "running"
    assert sum(waited) == pytest.approx(60)
    assert "process 1 on the-container-before was training" in told[0]


def test_another_host_that_ends_while_it_is_watched_leaves_it(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    write_lock(directory, host="elsewhere", heartbeat=time.time())
    with held(directory, sleep=lambda _seconds: directory.lock.unlink()):
        pass


def test_a_claim_keeps_others_out_until_whoever_made_it_is_gone(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    write_lock(directory, host=socket.gethostname(), heartbeat=time.time(), pid=os.getppid(), is_claim=True)
    with pytest.raises(CheckpointError, match="is being trained by process"), claimed(directory, lambda: None):
        pass
    write_lock(directory, host=socket.gethostname(), heartbeat=time.time(), pid=2**22 - 1, is_claim=True)
    with claimed(directory, lambda: None):
        assert directory.status() == "running"
        with held(directory):
            pass
    assert directory.read_lock() is None


def test_another_host_that_fell_silent_loses_it(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    write_lock(directory, host="elsewhere", heartbeat=time.time() - 3600)
    with held(directory):
        pass


def test_the_holder_says_again_and_again_that_it_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = RunDirectory(tmp_path)
    beaten = threading.Event()
    beats = iter(range(3))

    def write_lock(self: RunDirectory, *, now: float) -> None:
        real(self, now=now)
        if next(beats, 2) == 2:
            beaten.set()

    real = RunDirectory.write_lock
    monkeypatch.setattr("burnish.run.record.lock.HEARTBEAT_SECONDS", 0.001)
    monkeypatch.setattr(RunDirectory, "write_lock", write_lock)
    with held(directory):
        assert beaten.wait(timeout=60)


def test_a_directory_that_cannot_be_written_to_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()
    with pytest.raises(CheckpointError, match="cannot be written to"), held(RunDirectory(tmp_path)):
        pass


def test_a_directory_that_is_moved_while_its_lock_is_taken_is_locked_in_its_new_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, real = RunDirectory(tmp_path / "run"), fcntl.flock

    def flock(file: TextIO, operation: int) -> None:
        if not (tmp_path / "run.old-1").exists():
            directory.path.rename(tmp_path / "run.old-1")
        real(file, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    with held(directory):
        with pytest.raises(CheckpointError, match="is being trained by process"), held(directory):
            pass
        with held(RunDirectory(tmp_path / "run.old-1")):
            assert directory.status() == "running"
