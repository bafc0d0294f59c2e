"""Starts contestants as processes of their own, so that no setting of one changes the speed of another."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.harness.blocks import Block
from burnish.errors import LaunchError
from burnish.launch.local import start_worker
from burnish.run.record.ending import error_of

_CHILD = "bench.harness.contestant"
_END_SECONDS = 10.0
_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Entrant:
    """Who is to work, as `module:function`, and on what."""

    address: str
    request: Mapping[str, Any]
    is_ours: bool = True
    """Ours start as every worker does; a peer starts as its user would start it."""
    env: Mapping[str, str] = field(default_factory=dict)
    processes: int = 1
    """How many work as one, told of one another as torchrun tells them."""


@contextmanager
def started(entrants: Mapping[str, Entrant]) -> Iterator[dict[str, "Contestant"]]:
    """Start processes one after the other, each until it is ready; end them afterwards."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(_contestant(name, entrant)) for name, entrant in entrants.items()}


class Contestant:
    """A process that takes its turn when it is called."""

    def __init__(self, name: str, processes: "Sequence[subprocess.Popen[str]]") -> None:
        self.name = name
        self._processes = processes

    def __call__(self) -> Block:
        """Let it work once; of several processes the slowest counts."""
        try:
            for process in self._processes:
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
        except BrokenPipeError:
            raise self._death() from None
        return max((Block(**values) for values in self.hear()), key=lambda block: block.seconds)

    def hear(self) -> list[dict[str, Any]]:
        """Wait for the next line of each process; raise what one refused."""
        return [self._heard(process) for process in self._processes]

    def _heard(self, process: "subprocess.Popen[str]") -> dict[str, Any]:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise self._death()
        values: dict[str, Any] = json.loads(line)
        error = error_of(values)
        if error is not None:
            raise error
        return values

    def _death(self) -> LaunchError:
        return LaunchError(f"the process that measures {self.name} died; its output is above")


@contextmanager
def _contestant(name: str, entrant: Entrant) -> Iterator[Contestant]:
    argv = [_CHILD, entrant.address, json.dumps(entrant.request)]
    processes: list[subprocess.Popen[str]] = []
    try:
        for place in _places(entrant.processes):
            env = {**_searching(_ROOT), **place, **entrant.env}
            start = start_worker(argv, env=env, stdin=subprocess.PIPE) if entrant.is_ours else _plain(argv, env)
            processes.append(start)
        contestant = Contestant(name, processes)
        contestant.hear()
        yield contestant
    finally:
        for process in processes:
            _close(process)
        for process in processes:
            _end(process)


def _places(size: int) -> list[dict[str, str]]:
    """Tell each process its place; one alone is told nothing."""
    if size == 1:
        return [{}]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    shared = {
        "WORLD_SIZE": str(size),
        "LOCAL_WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    return [{**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(size)]


def _searching(root: Path) -> dict[str, str]:
    """Let a process import this package, wherever it is started: workers do not search the folder they stand in."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(root))))}


def _plain(argv: list[str], env: Mapping[str, str]) -> "subprocess.Popen[str]":
    """Start a peer without whatever the launcher sets for our own workers, like memory allocators."""
    return subprocess.Popen(
        [sys.executable, "-m", *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, **env},
    )


def _close(process: "subprocess.Popen[str]") -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(BrokenPipeError):  # closing writes what a dead process never read
                stream.close()


def _end(process: "subprocess.Popen[str]") -> None:
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
