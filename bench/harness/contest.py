"""Starts contestants as processes of their own, so that no setting of one changes the speed of another."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
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


@contextmanager
def started(entrants: Mapping[str, Entrant]) -> Iterator[dict[str, "Contestant"]]:
    """Start processes one after the other, each until it is ready; end them afterwards."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(_contestant(name, entrant)) for name, entrant in entrants.items()}


class Contestant:
    """A process that takes its turn when it is called."""

    def __init__(self, name: str, process: "subprocess.Popen[str]") -> None:
        self.name = name
        self._process = process

    def __call__(self) -> Block:
        """Let it work once."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("go\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._death() from None
        return Block(**self.hear())

    def hear(self) -> dict[str, Any]:
        """Wait for its next line; raise what it refused."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
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
    env = {**_searching(_ROOT), **entrant.env}
    process = start_worker(argv, env=env, stdin=subprocess.PIPE) if entrant.is_ours else _plain(argv, env)
    try:
        contestant = Contestant(name, process)
        contestant.hear()
        yield contestant
    finally:
        _end(process)


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


def _end(process: "subprocess.Popen[str]") -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(BrokenPipeError):  # closing writes what a dead process never read
                stream.close()
    try:
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
