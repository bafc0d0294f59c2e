"""The files of one run: where each stands, how it is written, and what they say together."""

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from burnish import durable
from burnish.artifact.locate import best_run
from burnish.durable import write_durably
from burnish.errors import CheckpointError
from burnish.nearest import nearest
from burnish.storage.address import read_address, refuse_address

Status = Literal["new", "running", "finished", "preempted", "failed", "interrupted"]

RUNS = Path("runs")
"""Where runs live when nobody says otherwise."""
HEARTBEAT_SECONDS = 10.0
"""How often the holder of a lock should write it again."""
STALE_SECONDS = 60.0
"""A lock that was not written for this long is held by nobody."""

_STATUS_OF_REASON: dict[str, Status] = {
    "finished": "finished",
    "early_stopping": "finished",
    "interrupted": "interrupted",
    "preempted": "preempted",
    "deadline": "preempted",
    "stop_file": "preempted",
    "orphaned": "preempted",
}


@dataclass(frozen=True)
class LockOwner:
    """Who works in a run directory, and when they last said so."""

    pid: int
    host: str
    heartbeat: float
    is_claim: bool = False
    """Held by a process that is about to start the worker."""

    def is_held(self, *, now: float) -> bool:
        """Tell whether the holder still lives; a process of another host is judged by its heartbeat alone."""
        if now - self.heartbeat > STALE_SECONDS:
            return False
        return self.host != _host() or _is_alive(self.pid)


@dataclass(frozen=True)
class _FileOfRun:
    name: str

    def __get__(self, run: "RunDirectory", _owner: type) -> Path:
        return run.path / self.name


@dataclass(frozen=True)
class RunDirectory:
    """Name the files of a run; write them so that a reader never sees half of one."""

    path: Path

    plan = _FileOfRun("plan.yaml")
    """Every value of the experiment with its origin; a run exists when this does."""
    profile = _FileOfRun("profile.json")
    """What the training rows looked like."""
    data = _FileOfRun("data.json")
    """The digest of every file that was read."""
    insights = _FileOfRun("insights.json")
    """What each column is worth, and how slices of the rows were scored."""
    events = _FileOfRun("events.jsonl")
    """What happened, one JSON object a line."""
    checkpoints = _FileOfRun("checkpoints")
    """One folder a checkpoint."""
    scores = _FileOfRun("scores.json")
    """What it scored, with intervals and baselines."""
    predictions = _FileOfRun("predictions")
    """One Parquet file a split."""
    artifact = _FileOfRun("artifact")
    """What it made: all that prediction needs."""
    tensorboard = _FileOfRun("tensorboard")
    """Event files for TensorBoard."""
    report = _FileOfRun("report.html")
    """The run as one page."""
    exit = _FileOfRun("exit.json")
    """How the last attempt ended; a worker removes it when it starts."""
    stop_file = _FileOfRun("STOP")
    """When this appears, the run saves and stops."""
    audit = _FileOfRun("audit.json")
    """What the data audit found, and the scores without the rows that training has seen."""
    tags = _FileOfRun("tags.json")
    """Words that a user gave it."""
    quarantine = _FileOfRun("quarantine")
    """Checkpoints that could not be trusted."""
    repairs = _FileOfRun("repairs.json")
    """Batches passed over, lowered rates and smaller micro-batches: what a resumed run must do again."""
    skipped_rows = _FileOfRun("skipped_rows.jsonl")
    """Rows that the data source left out, and why."""
    lock = _FileOfRun("lock.json")
    """Who works here now."""

    def __post_init__(self) -> None:
        refuse_address(self.path)

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.path.absolute().name

    def exists(self) -> bool:
        """Tell whether a run was planned here."""
        return self.plan.is_file()

    def status(self, *, now: Callable[[], float] = time.time) -> Status:
        """Derive from the files alone how the run stands."""
        lock = self.read_lock()
        if lock is not None and lock.is_held(now=now()):
            return "running"
        ending = read_json(self.exit)
        if isinstance(ending, dict):
            return _STATUS_OF_REASON.get(str(ending.get("reason")), "failed")
        has_begun = self.events.exists() or self.checkpoints.exists()
        return "interrupted" if has_begun else "new"

    def read_lock(self) -> LockOwner | None:
        """Read who holds the run; None when nobody does or the file cannot be understood."""
        fields = read_json(self.lock)
        try:
            holder = (int(fields["pid"]), str(fields["host"]), float(fields["heartbeat"]))  # type: ignore[index]  # anything else is caught below
            return LockOwner(*holder, bool(fields.get("is_claim")))  # type: ignore[attr-defined]  # as above
        except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
            return None

    def write_lock(self, *, now: float, is_claim: bool = False) -> LockOwner:
        """Hold the run for this process; write it again every HEARTBEAT_SECONDS."""
        lock = LockOwner(os.getpid(), _host(), now, is_claim)
        write_json(self.lock, asdict(lock))
        return lock


def default_directory(experiment: str, *, root: Path = RUNS) -> Path:
    """Name the folder of an experiment: `glue/sst2` → `runs/glue-sst2`, `./my/cfg.yaml` → `runs/cfg`."""
    is_file = experiment.endswith((".yaml", ".yml"))
    name = Path(experiment).stem if is_file else experiment.strip("/").replace("/", "-")
    return root / name


def fill_directory(written: Path | str, *, experiment: str, now: Callable[[], float] = time.time) -> Path:
    """Put the experiment's name and the time in UTC into a directory that has `{name}` or `{time}` in it."""
    moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now()))
    filled = str(written).replace("{name}", default_directory(experiment).name).replace("{time}", moment)
    return Path(filled)


def find_run(run: Path | str, *, root: Path = RUNS, is_whole: bool = False) -> RunDirectory:
    """Find a run by its path, or by its name below `runs/`; of a study its best, of an address its small files."""
    address = read_address(run)
    if address is not None:
        from burnish.storage.spool import view, view_root  # nobody whose runs are local waits for it

        path = view(address, view_root(), is_whole=is_whole)
        if not RunDirectory(path).exists():
            raise CheckpointError(f"{address} is not a run: there is no plan.yaml in it")
        return RunDirectory(path)
    for path in (Path(run), root / run):
        for found in (path, best_run(path)):
            if found is not None and RunDirectory(found).exists():
                return RunDirectory(found)
    known = [each.path.relative_to(root).as_posix() for each in find_runs(root)]
    close = nearest(str(run), known)
    hint = f"Did you mean `{close}`?" if close else "`burnish runs ls` lists those under runs/."
    raise CheckpointError(f"{run} is not a run: there is no plan.yaml in it. {hint}")


def find_runs(root: Path) -> list[RunDirectory]:
    """List the runs at or below a folder or an address, by name; a run's own folders are not searched."""
    address = read_address(root)
    if address is not None:
        from burnish.storage.remote import Folder

        return [find_run(f"{address}/{folder}".rstrip("/")) for folder in _folders_of_runs(Folder(address).listing())]
    return [RunDirectory(path) for path in sorted(_run_folders(root))]


def read_json(path: Path) -> object | None:
    """Read a small JSON file; None when it is absent or not JSON."""
    try:
        value: object = durable.read_json(path)
    except (OSError, ValueError):
        return None
    return value


def write_json(path: Path, value: object) -> None:
    """Write a small JSON file in one motion."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a small text file in one motion: a reader sees the old bytes or the new ones, even after a power cut."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A path that is not UTF-8 comes as lone surrogates; written so, JSON reads them back.
        write_durably(path, text.encode("utf-8", errors="backslashreplace"))
    except OSError as error:
        raise CheckpointError(f"{path} could not be written: {error.strerror or error}") from error


def _folders_of_runs(names: Iterable[str]) -> list[str]:
    """Find the folders with a plan among the names of objects; a checkpoint holds a copy of its run's."""
    found: list[str] = []
    for folder in sorted(name[: -len("plan.yaml")] for name in names if f"/{name}".endswith("/plan.yaml")):
        if not any(folder.startswith(outer) for outer in found):
            found.append(folder)
    return found


def _run_folders(root: Path) -> Iterator[Path]:
    for folder, files in walk_folders(root):
        if "plan.yaml" in files:
            yield folder


def walk_folders(root: Path) -> Iterator[tuple[Path, list[str]]]:
    """Walk the folders at and below one, each once; links are followed, but neither runs nor hidden folders entered."""
    seen: set[tuple[int, int]] = set()
    tops = [root]
    while tops:
        for folder, names, files in os.walk(tops.pop(0)):
            try:
                found = os.stat(folder)
            except OSError:
                continue  # it was removed a moment ago
            if (found.st_dev, found.st_ino) in seen:  # a link to a folder above would never end
                names.clear()
                continue
            seen.add((found.st_dev, found.st_ino))
            yield Path(folder), files
            names[:] = [] if "plan.yaml" in files else sorted(name for name in names if not name.startswith("."))
            # what a link leads to comes last, so that a folder that is reached both ways keeps its own name
            tops += [path for name in names if (path := Path(folder, name)).is_symlink()]


def _host() -> str:
    from socket import gethostname  # slow to load, and the help page passes here

    return gethostname()


def _is_alive(pid: int) -> bool:
    if pid <= 0:  # os.kill would ask about whole groups of processes
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
