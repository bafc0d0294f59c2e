"""How a worker ends."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from burnish.dist.world import LostPeer
from burnish.run import worker
from burnish.run.record.directory import RunDirectory

PROGRAM = """
import atexit, sys
from burnish.run.worker import leave
atexit.register(lambda: print("torn down", flush=True))
print("said", end="")
leave(3)
"""


@pytest.mark.parametrize(("variables", "said"), [({}, "saidtorn down\n"), ({"RANK": "0"}, "said")], ids=["one", "many"])
def test_one_of_several_ends_without_tearing_python_down_and_loses_no_word(
    tmp_path: Path, variables: dict[str, str], said: str
) -> None:
    """Threads of gloo let go of tensors late, and abort a process whose interpreter is half gone by then."""
    environment = {name: value for name, value in os.environ.items() if name != "RANK"} | variables
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stdout) == (3, said)


@pytest.mark.parametrize(("restarts", "is_told"), [({}, True), ((1, 1), True), ((0, 1), False)])
def test_a_failure_is_told_when_no_other_start_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restarts: tuple[int, ...], *, is_told: bool
) -> None:
    def lose() -> NoReturn:
        raise LostPeer("process 1 is gone")

    for name, number in zip(("RESTART_COUNT", "MAX_RESTARTS"), restarts, strict=False):
        monkeypatch.setenv(f"TORCHELASTIC_{name}", str(number))
    told: list[str] = []
    monkeypatch.setattr(worker, "world_from_environment", lose)
    monkeypatch.setattr(worker, "announce_failure", lambda _run, error, **_: told.append(str(error)))
    run = RunDirectory(tmp_path)
    with pytest.raises(LostPeer):
        worker._attempt(run, [], is_first=True)
    assert (run.status() == "failed", told) == (is_told, ["process 1 is gone"] * is_told)
