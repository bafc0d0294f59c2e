"""Trains trials in the elements of a job array of Slurm, which meet in a folder that all of them see.

The first element leads the study and trains trials itself; every other one trains what its file asks for, and shows in
another file that it lives. A trial whose element is gone goes on at another, from its newest checkpoint.
"""

import os
import secrets
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event as Flag
from threading import Lock, Thread
from typing import Any, Self

from burnish.errors import BurnishError
from burnish.launch.local import run_worker
from burnish.launch.module_path import find_modules_here
from burnish.launch.plan import FILES, OUTPUTS, TRIALS
from burnish.run.record.directory import STALE_SECONDS, RunDirectory, read_json, write_json
from burnish.run.record.ending import COMPLETE, refusal
from burnish.tuning.forks import TrialStarter

_WORKER = "burnish.run.worker"
_LOOK_SECONDS = 0.5
_BEAT_SECONDS = 5.0
_MOST_SECONDS_ALONE = 3600.0
"""How long an element waits for a first one that is gone; it may be back in the queue."""


@dataclass(frozen=True)
class _Mailbox:
    """What the first element and another one tell each other: each of them writes its own file."""

    folder: Path
    element: int

    @property
    def lines(self) -> Path:
        """What the trial prints."""
        return self.folder / f"{self.element}.lines"

    def ask(self, **fields: object) -> None:
        """Say what to train; a task that is asked for no more is given up."""
        write_json(self.folder / f"{self.element}.asked.json", fields)

    def say(self, **fields: object) -> None:
        """Say what is trained, and that the element lives."""
        write_json(self.folder / f"{self.element}.said.json", {**fields, "beat": secrets.token_hex(4)})

    def asked(self) -> dict[str, Any]:
        """Read what to train."""
        return _read(self.folder / f"{self.element}.asked.json")

    def said(self) -> dict[str, Any]:
        """Read how it goes."""
        return _read(self.folder / f"{self.element}.said.json")


@dataclass
class ArrayTrialStarter:
    """Trains each trial in an element that is free, here first; a context, as what it holds."""

    told: str
    here: TrialStarter
    stopping: Flag
    _free: set[int] = field(default_factory=set)
    _seen: dict[int, tuple[object, float]] = field(default_factory=dict)
    """The last sign of life of each element, and when it came."""
    _turn: Lock = field(default_factory=Lock)

    def __enter__(self) -> Self:
        self._folder, size = Path(self.told.rpartition(":")[0]), int(self.told.rpartition(":")[2])
        self.here.__enter__()
        self._free = {*range(size)}
        for each in range(1, size):
            _Mailbox(self._folder, each).ask()  # what a leader before this one asked for is no more wanted
        return self

    def __exit__(self, *_: object) -> None:
        self.here.__exit__()

    def start(self, run: Path, options: Sequence[str], *, cores: Sequence[int], log: Path) -> Iterator[str]:
        """Train a planned run in an element, and give each line it prints until it has ended, or its element has."""
        element = self._await_free()
        if element is None:
            return
        try:
            if element == 0:
                yield from self.here.start(run, options, cores=[], log=log)  # an element has its cores for itself
            else:
                yield from self._follow(_Mailbox(self._folder, element), [str(run), *options])
        finally:
            with self._turn:
                self._free.add(element)

    def _await_free(self) -> int | None:
        while not self.stopping.is_set():
            with self._turn:
                found = next((each for each in sorted(self._free) if each == 0 or self._lives(each)), None)
                if found is not None:
                    self._free.remove(found)
                    return found
            time.sleep(_LOOK_SECONDS)
        return None

    def _lives(self, element: int) -> bool:
        """Tell whether an element has given a sign of life, and the last one not long ago."""
        beat, now = _Mailbox(self._folder, element).said().get("beat"), time.monotonic()
        before, at = self._seen.get(element, (beat, -STALE_SECONDS))  # one that is there already proves nothing
        self._seen[element] = (beat, at if beat == before else now)
        return now - self._seen[element][1] < STALE_SECONDS

    def _follow(self, mailbox: _Mailbox, words: Sequence[str]) -> Iterator[str]:
        task, worker, read = secrets.token_hex(8), mailbox.said().get("worker"), 0
        mailbox.ask(task=task, worker=worker, words=[*words])
        try:
            while True:
                said = mailbox.said()
                if said.get("task") == task:
                    for line in _lines_behind(mailbox.lines, read):
                        read += len(line)
                        yield line.decode(errors="replace")
                    if "code" in said:
                        return
                with self._turn:
                    is_lost = said.get("worker", worker) != worker or not self._lives(mailbox.element)
                if is_lost:
                    return  # whoever reads the files of the run finds no end, and starts it again
                time.sleep(_LOOK_SECONDS)
        finally:
            mailbox.ask()


class ArrayElement:
    """An element that is not the first: trains what it is asked for until the study is over, or it must make room."""

    def __init__(self, root: Path, element: int, *, over: Path) -> None:
        self._root, self._over = root, over
        self._mailbox = _Mailbox(root / TRIALS, element)
        self._worker = secrets.token_hex(8)
        self._said: dict[str, object] = {}
        self._run: RunDirectory | None = None
        self._is_given_up = False
        self.is_ending = Flag()

    def serve(self) -> int:
        """Train one trial after another."""
        heart = Thread(target=self._beat, daemon=True)
        heart.start()
        last, alone_since = "", time.monotonic()
        while not self.is_ending.wait(_LOOK_SECONDS) and not self._over.exists():
            if self._is_led():
                alone_since = time.monotonic()
            elif time.monotonic() - alone_since > _MOST_SECONDS_ALONE:
                break
            asked = self._mailbox.asked()
            if asked.get("worker") == self._worker and asked["task"] != last:
                last = asked["task"]
                self._train(last, asked["words"])
        return os.EX_TEMPFAIL if self.is_ending.is_set() else 0

    def _train(self, task: str, words: Sequence[str]) -> None:
        self._is_given_up, run = False, RunDirectory(Path(words[0]))
        with self._mailbox.lines.open("w", encoding="utf-8") as lines:
            self._said, self._run = {"task": task}, run

            def pass_on(line: str) -> None:
                lines.write(line)
                lines.flush()

            code = run_worker([_WORKER, *words], on_line=pass_on)
        self._run = None
        reason = _read(run.exit).get("reason")
        if (self._is_given_up or self.is_ending.is_set()) and reason not in (*COMPLETE, "failed"):
            run.exit.unlink(missing_ok=True)  # it made room, and was not stopped: another element goes on with it
        elif 0 < code < 128 and reason is None and run.status() != "running":
            sentence = BurnishError(f"its worker ended with {code}; its words are in {self._mailbox.folder}")
            write_json(run.exit, {"reason": "failed", **refusal(sentence)})
        self._said = {"task": task, "code": code}
        self._mailbox.say(worker=self._worker, **self._said)

    def _beat(self) -> None:
        """Show that this element lives, and ask a trial to stop that nobody follows any more."""
        while True:
            with suppress(OSError, BurnishError):  # a folder that is away for a moment
                self._mailbox.say(worker=self._worker, **self._said)
                run, said = self._run, self._said
                if run is not None and (self._over.exists() or self._mailbox.asked().get("task") != said["task"]):
                    self._is_given_up = True
                    run.stop_file.touch()
            time.sleep(_BEAT_SECONDS)

    def _is_led(self) -> bool:
        locks = [RunDirectory(each.parent).read_lock() for each in (self._root / OUTPUTS).glob("*/lock.json")]
        return any(each is not None and each.is_held(now=time.time()) for each in locks)


def _lines_behind(path: Path, read: int) -> list[bytes]:
    with suppress(OSError), path.open("rb") as lines:
        lines.seek(read)
        return [each for each in lines.read().splitlines(keepends=True) if each.endswith(b"\n")]
    return []


def _read(path: Path) -> dict[str, Any]:
    found = read_json(path)
    return found if isinstance(found, dict) else {}


def main(argv: Sequence[str]) -> int:
    """Be an element of the array that Slurm says; the folder of the job is the word."""
    root = Path(*argv)
    os.chdir(root / FILES)
    find_modules_here(is_wanted=True)  # components of the user's own, for the trials that are started from here
    number, array = int(os.environ["SLURM_ARRAY_TASK_ID"]), os.environ["SLURM_ARRAY_JOB_ID"]
    found = ArrayElement(root, number, over=root / TRIALS / f"over-{array}")
    signal.signal(signal.SIGTERM, lambda *_: found.is_ending.set())
    return found.serve()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
