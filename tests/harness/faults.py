"""Ends or starves a worker at a chosen write, so that a test can prove what a crash leaves behind.

`python -m tests.harness.faults --kill-at fsync:7 -- burnish.run.worker RUN` runs the worker's own `main` in a
process that dies at its seventh fsync. Nothing in Burnish knows of it: only a process started this way is patched.
"""

import argparse
import errno
import importlib
import json
import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from tests.harness import counted_files

Kind = Literal["open", "write", "fsync", "replace", "unlink", "rmtree", "tensors"]
Moment = Literal["before", "within", "after"]
Action = Literal["kill", "full", "full_from"]
KINDS: tuple[Kind, ...] = get_args(Kind)
TORN: tuple[Kind, ...] = ("write", "tensors")
"""Kinds that can be cut in the middle."""

_FORM = re.compile(r"(\w+):(\d+)(?::(before|within|after))?")


@dataclass(frozen=True)
class Fault:
    """What happens at the `number`-th call of a kind, counted from 1."""

    kind: Kind
    number: int
    moment: Moment = "before"
    action: Action = "kill"
    """`kill` ends the process, `full` fails this call for want of space, `full_from` this one and all that follow."""

    def __str__(self) -> str:
        return f"{self.action} {self.kind}:{self.number}:{self.moment}"

    @classmethod
    def parse(cls, text: str, *, action: Action = "kill") -> "Fault":
        """Read `fsync:7` or `write:3:within`; raise ValueError with a sentence for anything else."""
        match = _FORM.fullmatch(text)
        if match is None or match[1] not in KINDS or int(match[2]) < 1:
            raise ValueError(f"must be KIND:NUMBER or KIND:NUMBER:MOMENT with a kind of {', '.join(KINDS)}, got {text}")
        moment: Any = match[3] or "before"
        if moment == "within" and match[1] not in TORN:
            raise ValueError(f"only {' and '.join(TORN)} can be cut within, got {text}")
        return cls(match[1], int(match[2]), moment, action)


@dataclass(frozen=True)
class Point:
    """One call that was passed: the `number`-th of its kind, and the file it was about."""

    kind: Kind
    number: int
    path: str


class Injector:
    """Count the calls that a save passes through, and let one of them go wrong."""

    def __init__(self, fault: Fault | None = None, *, trace: Path | None = None) -> None:
        self._fault = fault
        self._counts = dict.fromkeys(KINDS, 0)
        self._lock = threading.RLock()
        self._write = os.write
        self._trace = -1 if trace is None else os.open(trace, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def install(self) -> None:
        """Patch this process, for good: it is meant to end soon."""
        import safetensors

        self._wrap(os, "fsync", "fsync")
        self._wrap(os, "replace", "replace", path_at=1)
        self._wrap(os, "rename", "replace", path_at=1)
        self._wrap(os, "unlink", "unlink")
        self._wrap(os, "remove", "unlink")
        self._wrap(os, "write", "write")
        self._wrap(shutil, "rmtree", "rmtree")
        # `save_file` looks it up in its own module, which took the name from here or has yet to be imported
        loaded = sys.modules.get("safetensors.torch", safetensors)
        self._wrap(loaded, "serialize_file", "tensors", path_at=1, tear=_halve)
        counted_files.install(self.pass_through)

    def pass_through(
        self, kind: Kind, path: object, call: Callable[[], Any], *, tear: Callable[[], None] | None = None
    ) -> Any:
        """Do a call unless it is the one that goes wrong; `tear` does half of it."""
        fault = self._next(kind, path)
        if fault is None:
            return call()
        if fault.action != "kill":
            raise _no_space(kind)
        if fault.moment == "within" and tear is not None:
            tear()
        elif fault.moment != "before":
            call()
        os.kill(os.getpid(), signal.SIGKILL)
        return None

    def _next(self, kind: Kind, path: object) -> Fault | None:
        with self._lock:
            self._counts[kind] += 1
            number = self._counts[kind]
            if self._trace >= 0:
                line = json.dumps(asdict(Point(kind, number, _name(path)))) + "\n"
                self._write(self._trace, line.encode())
        fault = self._fault
        if fault is None or fault.kind != kind:
            return None
        is_hit = number >= fault.number if fault.action == "full_from" else number == fault.number
        return fault if is_hit else None

    def _wrap(
        self, owner: Any, name: str, kind: Kind, *, path_at: int = 0, tear: Callable[[Any], None] | None = None
    ) -> None:
        real = getattr(owner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            path = arguments[path_at] if len(arguments) > path_at else "?"

            def cut() -> None:
                real(*arguments, **options)
                assert tear is not None
                tear(path)

            return self.pass_through(kind, path, lambda: real(*arguments, **options), tear=tear and cut)

        setattr(owner, name, call)


def read_trace(path: Path) -> list[Point]:
    """Read the points that a process with `--trace` passed."""
    return [Point(**json.loads(line)) for line in path.read_text().splitlines()]


def main(argv: Sequence[str]) -> int:
    """Patch this process as the options say, then run a module's `main` with the rest."""
    parser = argparse.ArgumentParser(prog="python -m tests.harness.faults")
    parser.add_argument("--kill-at", type=_fault("kill"), dest="fault", metavar="KIND:NUMBER[:MOMENT]")
    parser.add_argument("--full-at", type=_fault("full"), dest="fault", metavar="KIND:NUMBER")
    parser.add_argument("--full-from", type=_fault("full_from"), dest="fault", metavar="KIND:NUMBER")
    parser.add_argument("--trace", type=Path, metavar="FILE")
    parser.add_argument("module")
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    options = parser.parse_args(argv)
    Injector(options.fault, trace=options.trace).install()
    code: int = importlib.import_module(options.module).main(options.rest)
    return code


def _fault(action: Action) -> Callable[[str], Fault]:
    def fault(text: str) -> Fault:
        try:
            return Fault.parse(text, action=action)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return fault


def _no_space(kind: Kind) -> Exception:
    sentence = os.strerror(errno.ENOSPC)
    if kind != "tensors":
        return OSError(errno.ENOSPC, sentence)
    from safetensors import SafetensorError

    return SafetensorError(f"Error while serializing: I/O error: {sentence} (os error {errno.ENOSPC})")


def _halve(path: Any) -> None:
    os.truncate(path, os.path.getsize(path) // 2)


def _name(path: object) -> str:
    if not isinstance(path, int):
        return str(path)
    try:
        return os.readlink(f"/proc/self/fd/{path}")
    except OSError:
        return "?"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
