"""One process a run."""

import json
import socket
import threading
import time
from pathlib import Path

import pytest

from burnish.errors import CheckpointError
from burnish.run.directory import RunDirectory
from burnish.run.lock import held


def write_lock(directory: RunDirectory, *, host: str, heartbeat: float, pid: int = 1) -> None:
    directory.lock.write_text(json.dumps({"pid": pid, "host": host, "heartbeat": heartbeat}))


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


def test_another_host_that_still_beats_keeps_it(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    write_lock(directory, host="elsewhere", heartbeat=time.time())
    with pytest.raises(CheckpointError, match="process 1 on elsewhere"), held(directory):
        pass


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
    monkeypatch.setattr("burnish.run.lock.HEARTBEAT_SECONDS", 0.001)
    monkeypatch.setattr(RunDirectory, "write_lock", write_lock)
    with held(directory):
        assert beaten.wait(timeout=60)


def test_a_directory_that_cannot_be_written_to_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()
    with pytest.raises(CheckpointError, match="cannot be written to"), held(RunDirectory(tmp_path)):
        pass
