"""Looks at runs: lists them, shows one, compares several, follows one that goes."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from burnish.commands.compare.comparison import RunComparison, compare
from burnish.commands.run_control import read_tags
from burnish.config.nodes import Branch, Node, brief, write_path
from burnish.config.nodes import Path as KeyPath
from burnish.config.reader import read_file
from burnish.errors import BurnishError
from burnish.run.record.directory import RUNS, RunDirectory, Status, find_run, find_runs, read_json
from burnish.run.record.events_file import EventsFile
from burnish.run.record.history import History, read_history
from burnish.run.record.result import ScoreSheet, read_sheet
from burnish.spec.events import Event
from burnish.spec.values import Score
from burnish.storage.address import read_address

__all__ = ["RunComparison", "RunDetail", "RunRow", "compare", "ls", "show", "tail"]

_POLL_SECONDS = 0.5
_HIGHLIGHTS = (
    "name",
    "task.type",
    "data.type",
    "data.train",
    "model.type",
    "model.name",
    "task.max_length",
    "task.truncation.type",
    "optimizer.type",
    "optimizer.learning_rate",
    "schedule.type",
    "train.length",
    "train.batch.examples",
    "train.batch.tokens",
    "runtime.seed",
)


@dataclass(frozen=True)
class RunRow:
    """One run in a list."""

    name: str
    path: Path | str
    """On this machine, or its address."""
    status: Status
    started: float | None
    seconds: float
    step: int
    total_steps: int | None
    best: float | None
    """Of the score that chooses the checkpoint."""
    headline: str | None
    test: Score | None
    select: str | None = None
    """The score that `best` is of."""
    task: str | None = None
    model: str | None = None
    """Its pretrained weights by name, or else its type."""
    tags: tuple[str, ...] = ()
    fault: str | None = None
    """Why the rest is not known, when a file of the run cannot be read."""


@dataclass(frozen=True)
class RunDetail:
    """Everything worth knowing of one run at a glance."""

    row: RunRow
    history: History
    plan: dict[str, str]
    sheet: ScoreSheet | None
    artifact: Path | str | None
    report: Path | str | None
    checkpoints: tuple[str, ...]
    ending: str | None
    """What exit.json says went wrong, if anything did."""


def ls(root: Path = RUNS, *, tag: str | None = None) -> list[RunRow]:
    """List the runs below a folder, the newest first; with `tag` those that have it."""
    rows = [_try_row(run, root=root) for run in find_runs(root)]
    rows = [row for row in rows if tag is None or tag in row.tags]
    return sorted(rows, key=lambda row: (-(row.started or 0.0), row.name))


def show(run: Path | str) -> RunDetail:
    """Collect what a run was asked, how it went, what it scored and what it left."""
    directory = find_run(run)
    history = read_history(directory)
    ending = read_json(directory.exit)
    address = read_address(run)
    detail = RunDetail(
        row=_make_row(directory, name=directory.name, history=history),
        history=history,
        plan=highlights(directory),
        sheet=read_sheet(directory),
        artifact=directory.artifact if directory.artifact.is_dir() else None,
        report=directory.report if directory.report.is_file() else None,
        checkpoints=tuple(sorted(path.name for path in directory.checkpoints.glob("step-*"))),
        ending=str(ending["message"]) if isinstance(ending, dict) and ending.get("message") else None,
    )
    return detail if address is None else _at_address(detail, address)


def _at_address(detail: RunDetail, address: str) -> RunDetail:
    """Name things where they are for everybody, not where they were brought to be looked at."""
    parts = {
        part: f"{address}/{path.name}"
        for part, path in (("artifact", detail.artifact), ("report", detail.report))
        if isinstance(path, Path)
    }
    return replace(detail, row=replace(detail.row, path=address), **parts)  # type: ignore[arg-type]  # two of its fields


def tail(run: Path | str, *, follow: bool = False, sleep: Callable[[float], None] = time.sleep) -> Iterator[Event]:
    """Read a run's events; with `follow`, continue until the run ends."""
    directory = find_run(run)
    file = EventsFile(directory.events)
    seen = float("-inf")
    while True:
        # asked before reading: what a run wrote just before it ended is still read
        is_going = directory.status() in ("running", "new")
        # by time and not by place in the file, because a resumed run cuts lines out of it
        for record in [each for each in file.read() if each.time > seen]:
            seen = record.time
            yield record.event
        if not (follow and is_going):
            return
        sleep(_POLL_SECONDS)
        directory = find_run(run)  # of one at an address, brought here again


def highlights(directory: RunDirectory) -> dict[str, str]:
    """Pick the options that tell runs apart, as their plan wrote them."""
    plan = flatten(read_file(directory.plan, source=str(directory.plan)))
    return {key: plan[key] for key in _HIGHLIGHTS if key in plan}


def flatten(node: Node, path: KeyPath = ()) -> dict[str, str]:
    """Write a config as one line an option: `train.batch.examples` → `32`."""
    if isinstance(node, Branch):
        parts = (flatten(each, (*path, key)) for key, each in node.nodes.items())
        return {key: text for part in parts for key, text in part.items()}
    return {write_path(path): brief(node)}


def _try_row(directory: RunDirectory, *, root: Path) -> RunRow:
    is_below = directory.path.is_relative_to(root) and directory.path != root
    name = directory.path.relative_to(root).as_posix() if is_below else directory.name
    try:
        return _make_row(directory, name=name, history=read_history(directory))
    except BurnishError as error:
        row = _make_row(directory, name=name, history=History())
        return replace(row, fault=str(error))


def _make_row(directory: RunDirectory, *, name: str, history: History) -> RunRow:
    sheet = read_sheet(directory)
    task, model = _read_kinds(directory)
    return RunRow(
        name=name,
        path=directory.path,
        status=directory.status(),
        started=history.started,
        seconds=history.seconds,
        step=history.step,
        total_steps=history.total_steps,
        best=history.best_score,
        headline=sheet.headline if sheet else None,
        test=sheet.scores.get("test", {}).get(sheet.headline) if sheet else None,
        select=history.best_name,
        task=task,
        model=model,
        tags=read_tags(directory),
    )


def _read_kinds(directory: RunDirectory) -> tuple[str | None, str | None]:
    """Read the task and the model of a plan; a list that is read again and again reads each plan once."""
    try:
        found = directory.plan.stat()
        return _kinds_of(directory.plan, found.st_mtime_ns, found.st_size)
    except (OSError, BurnishError):
        return None, None  # a list names what it can


@lru_cache(maxsize=4096)
def _kinds_of(plan: Path, _changed: int, _size: int) -> tuple[str | None, str | None]:
    written = flatten(read_file(plan, source=str(plan)))
    return written.get("task.type"), written.get("model.name", written.get("model.type"))
