"""Trains trials on the nodes of a Ray cluster: the files of a run go there, and come back while it trains.

The tuner alone writes into the folder of its study. What a node that was given up still does reaches nobody, so that
no evaluation counts twice, and no folder has to be shared.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from burnish.durable import write_durably
from burnish.errors import BurnishError, LaunchError
from burnish.extras import require
from burnish.launch.plan import OUTPUTS
from burnish.launch.ray.group import actor_options
from burnish.launch.ray.node import NodeWorker
from burnish.launch.transfer import download
from burnish.run.record.directory import RunDirectory, write_json
from burnish.run.record.ending import refusal
from burnish.run.record.lock import held
from burnish.storage.manifest import NAME as MANIFEST
from burnish.storage.mirror import Stamp

_WORKER = "burnish.run.worker"
_OWN = ("lock.json", "STOP")
"""Files of a run that each side has for itself."""
_LAST = (MANIFEST, "exit.json")
"""Files that vouch for others."""
Sent = dict[str, Stamp]
"""What the other side has."""
_EVALUATED = '"event": "evaluated"'
_LOOK_SECONDS = 0.5


@dataclass(frozen=True)
class Change:
    """What became of the files of a run."""

    line: str = ""
    """What the worker printed after that."""
    written: Mapping[str, bytes] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    code: int | None = None


class TrialWorker(NodeWorker):
    """A trial on a node: it has a copy of its run, and tells what changes there."""

    _stop_file: Path | None = None

    def train(
        self, run: str, options: Sequence[str], *, files: str, before: Mapping[str, bytes], cores: int
    ) -> Iterator[Change]:
        """Train a run from where its files stand; its evaluations are told after the files that vouch for them."""
        with tempfile.TemporaryDirectory(prefix="burnish-", ignore_cleanup_errors=True) as folder:
            _bring(files, Path(folder))
            directory = RunDirectory(Path(folder, run))
            write_files(directory.path, before)
            self._stop_file, sent = directory.stop_file, Sent()
            _read_changes(directory.path, sent)
            env = {"BURNISH_CORES": str(cores), "BURNISH_MODULES_HERE": "1", "PYTHONSAFEPATH": "1"}
            for said in self.lines([_WORKER, run, *options], env, Path(folder)):
                if isinstance(said, int):
                    yield Change("", *_read_changes(directory.path, sent), code=said)
                elif _EVALUATED in said:
                    yield Change(said, *_read_changes(directory.path, sent))
                else:
                    yield Change(said)

    def ask_to_stop(self) -> None:
        """Let the run save and stop."""
        if self._stop_file is not None:
            self._stop_file.touch()


class RayTrialStarter:
    """Trains each trial in an actor of its own, with what it takes of a node; a context, at whose end all are gone."""

    def __init__(self, told: str) -> None:
        asked = json.loads(told)
        self._bundle, self._files = asked["bundle"], asked["files"]
        self._ray = require("ray", extra="ray", why="to train trials on Ray")

    def __enter__(self) -> Self:
        self._ray.init(log_to_driver=False)
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    def start(self, run: Path, options: Sequence[str], *, cores: Sequence[int], log: Path) -> Iterator[str]:
        """Train a planned run somewhere, and give each line it prints until it has ended, or its node has."""
        directory = RunDirectory(run)
        worker = self._ray.remote(TrialWorker).options(**actor_options(self._bundle)).remote()
        share = max(1, int(self._bundle.get("CPU", 1)))
        with held(directory):
            directory.exit.unlink(missing_ok=True)
            directory.stop_file.unlink(missing_ok=True)
            before, _ = _read_changes(run, Sent())
            changes = worker.train.remote(str(run), [*options], files=self._files, before=before, cores=share)
            try:
                yield from self._follow(worker, changes, directory, log)
            except self._ray.exceptions.RayTaskError as error:
                raise LaunchError(f"a trial could not be trained: {str(error).strip().splitlines()[-1]}") from error
            except self._ray.exceptions.RayError:
                return  # its node is gone: whoever reads the files of the run finds no end, and starts it again
            finally:
                self._ray.kill(worker)

    def _follow(self, worker: Any, changes: Any, directory: RunDirectory, log: Path) -> Iterator[str]:
        has_begun = False
        while True:
            if directory.stop_file.exists():
                if not has_begun:
                    return  # it may wait for a node that never comes
                worker.ask_to_stop.remote()
            ready, _ = self._ray.wait([changes], timeout=_LOOK_SECONDS)
            if not ready:
                continue
            change: Change = self._ray.get(next(changes))
            has_begun = True
            write_files(directory.path, change.written)
            for name in change.removed:
                (directory.path / name).unlink(missing_ok=True)
            if change.line and not change.line.startswith("{"):
                with log.open("a", encoding="utf-8") as words:
                    words.write(change.line)
            if change.code is None:
                yield change.line
                continue
            if 0 < change.code < 128 and not directory.exit.exists():
                sentence = BurnishError(f"its worker ended with {change.code}; its words are in {log}")
                write_json(directory.exit, {"reason": "failed", **refusal(sentence)})
            return


def _bring(files: str, folder: Path) -> None:
    """Have the files of the job in a folder; those of a path are there already, and what the job leaves is not."""
    if "://" in files:
        download(files, folder)
        return
    for each in Path(files).iterdir():
        if each.name != OUTPUTS:
            (folder / each.name).symlink_to(each)


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a folder, each as a whole, in their order."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_durably(folder / name, content)


def _read_changes(folder: Path, sent: Sent) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Read the files that are new or other than what was sent, those that vouch for others last, and name lost ones."""
    written: dict[str, bytes] = {}
    found: set[str] = set()
    for path in sorted(folder.rglob("*"), key=lambda each: (each.name in _LAST, each)):
        parts = path.relative_to(folder).parts
        try:
            if path.name in _OWN or any(part.startswith(".") for part in parts) or not path.is_file():
                continue
            name, facts = "/".join(parts), (path.stat().st_size, path.stat().st_mtime_ns)
            content = path.read_bytes() if sent.get(name) != facts else None
        except FileNotFoundError:
            continue  # a checkpoint that was just deleted
        found.add(name)
        if content is not None:
            written[name] = content
            sent[name] = facts
    lost = tuple(sent.keys() - found)
    for name in lost:
        del sent[name]
    return written, lost
