"""One process a run."""

import json
import socket
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
