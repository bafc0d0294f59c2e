"""Places where a run is trained, for the one fault test: each starts the same command, and is waited for.

To add one whose launcher has `--on NAME`, give `Job` its options, and start what it needs in a context manager.
"""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest

BURNISH = (sys.executable, "-m", "burnish")
PATIENCE_SECONDS = 400.0


class Place(Protocol):
    """Somewhere that a run is trained."""

    @property
    def size(self) -> int:
        """How many processes train it."""
        ...

    def start(self, words: Sequence[str], *, folder: Path) -> Path:
        """Run `burnish train` with these words in the background, standing in a folder; give the run directory."""
        ...

    def wait(self) -> int:
        """Wait for the end; give the exit code of the command."""
        ...


@dataclass
class Local:
    """Processes of this machine."""

    size: int = 2
    _process: "subprocess.Popen[bytes] | None" = None

    def start(self, words: Sequence[str], *, folder: Path) -> Path:
        here = ["--processes", str(self.size), "--max-restarts", "2", "--dir", "runs/local"]
        self._process = start(["train", *words, *here], folder=folder, log=folder / "local.txt")
        return folder / "runs" / "local"

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait(timeout=PATIENCE_SECONDS)


@dataclass
class Job:
    """A job of a launcher, which is submitted and waited for as a user does."""

    where: str
    options: Sequence[str] = ()
    size: int = 1
    folder: Path = Path()
    name: str = ""

    def start(self, words: Sequence[str], *, folder: Path) -> Path:
        self.folder = folder
        options = [word for each in self.options for word in ("-l", each)]
        self.name = self.ask("train", *words, "--on", self.where, *options, "--yes", "--detach").split()[-1]
        return Path(str(self.show()["record"]["root"]), "outputs", "run")

    def wait(self) -> int:
        return run(["jobs", "wait", self.name, "--timeout", str(PATIENCE_SECONDS)], folder=self.folder).returncode

    def show(self) -> dict[str, Any]:
        """Ask how it stands."""
        found: dict[str, Any] = json.loads(self.ask("jobs", "show", self.name, "--json"))
        return found

    def ask(self, *words: str) -> str:
        """Run a command that succeeds; give what it prints."""
        found = run(words, folder=self.folder)
        assert found.returncode == 0, found.stderr
        return found.stdout


@dataclass
class Torchrun(Job):
    """Nodes on this machine: a job, and others that join it by the command that it tells."""

    where: str = "torchrun"
    size: int = 2
    num_nodes: str = "2"
    nodes: "list[subprocess.Popen[bytes]]" = field(default_factory=list)
    """Those that have joined."""

    def start(self, words: Sequence[str], *, folder: Path) -> Path:
        self.options = (f"nodes={self.num_nodes}", f"rendezvous=127.0.0.1:{free_port()}")
        found = super().start(words, folder=folder)
        if self.num_nodes == "2":
            self.join()
        return found

    def join(self) -> None:
        """Add a node."""
        _, _, command = str(self.show()["record"]["link"]).partition(": ")
        with (self.folder / f"node-{len(self.nodes) + 1}.txt").open("wb") as log:
            self.nodes.append(subprocess.Popen(shlex.split(command), cwd=self.folder, stdout=log, stderr=log))

    def wait(self) -> int:
        code = super().wait()
        for node in self.nodes:
            node.wait(timeout=PATIENCE_SECONDS)
        return code


def start(words: Sequence[str], *, folder: Path, log: Path) -> "subprocess.Popen[bytes]":
    """Start a command of Burnish in the background."""
    with log.open("wb") as stream:
        return subprocess.Popen([*BURNISH, *words], cwd=folder, stdout=stream, stderr=stream)


def run(words: Sequence[str], *, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command of Burnish."""
    return subprocess.run([*BURNISH, *words], cwd=folder, capture_output=True, text=True, check=False)


def kill_worker(run: Path, *, at_step: int) -> int:
    """End the first process of a run by SIGKILL when it has passed a step; give the step."""
    await_that(lambda: last_step(run) >= at_step, what=f"step {at_step} of {run}")
    step = last_step(run)
    os.kill(json.loads((run / "lock.json").read_text())["pid"], signal.SIGKILL)
    return step


def kill_tree(pid: int) -> None:
    """End a process and all that it started, the first one first, so that none of them can mend it."""
    for each in [pid, *descendants(pid)]:
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def descendants(pid: int) -> list[int]:
    """List the processes that a process started, and those that they did."""
    found = []
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (thread / "children").read_text().split()):
                found += [child, *descendants(child)]
    return found


def events_of(run: Path) -> list[dict[str, Any]]:
    """Read what happened in a run so far; nothing before it begins."""
    with suppress(OSError):
        lines = (run / "events.jsonl").read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]
    return []


def last_step(run: Path) -> int:
    """Name the last step that was taken."""
    return max((event["step"] for event in events_of(run) if event["event"] == "stepped"), default=0)


def sizes_of(run: Path) -> list[int]:
    """List how many processes each attempt of a run had."""
    return [event["facts"].get("processes", 1) for event in events_of(run) if event["event"] == "started"]


def train_alone(words: Sequence[str], folder: Path, *, until: int) -> Path:
    """Train the same on one process without a fault, to a step at least."""
    there = folder / "runs" / "alone"
    process = start(["train", *words, "--dir", str(there)], folder=folder, log=folder / "alone.txt")
    await_that(lambda: last_step(there) >= until, what=f"step {until}")
    (there / "STOP").touch()
    process.wait()
    return there


def assert_same_training(run: Path, other: Path) -> None:
    """Compare what was learned from in each step, the losses, and the scores on the way."""
    mine, theirs = (steps_of(each, "stepped") for each in (run, other))
    assert set(mine) <= set(theirs)
    for step, event in mine.items():
        for name in ("epoch", "examples", "tokens", "learning_rate"):
            assert event[name] == theirs[step][name]
        assert event["loss"] == pytest.approx(theirs[step]["loss"], abs=1e-4)
    mine, theirs = (steps_of(each, "evaluated") for each in (run, other))
    assert mine
    for step in set(mine) & set(theirs):
        assert mine[step]["scores"] == pytest.approx(theirs[step]["scores"], abs=1e-4)


def steps_of(run: Path, kind: str) -> dict[int, dict[str, Any]]:
    """Give the events of a kind by their step."""
    return {event["step"]: event for event in events_of(run) if event["event"] == kind}


def await_that(is_so: Callable[[], bool], *, what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Look again until something is so; fail when that takes too long."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.05)


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])
