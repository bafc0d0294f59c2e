"""Faults as states: a run that meets bad numbers, a full disk or a stop comes to the end it would have come to."""

import csv
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from burnish.config import load
from burnish.engine.stop import StopRequest
from burnish.errors import BurnishError, CheckpointError
from burnish.run.record.directory import RunDirectory
from burnish.run.record.events_file import EventsFile
from burnish.run.record.plan import settle_plan
from burnish.run.sinks import EventDispatcher
from burnish.spec.events import Ended, Event, Noted, Saved, Started, Stepped
from burnish.storage import manifest
from tests.project import Project, make_project
from tests.training import train_here

HARD = """\
optimizer: {learning_rate: 3e-3}
train: {length: 2 epochs, batch: 8, accumulate: 2, ema: 0.9, checkpoint_every: 3 steps, evaluate_every: 5 steps}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Project:
    made = make_project(tmp_path_factory.mktemp("faults"), model=tiny_bert, rows=96, config=HARD)
    text = made.config.read_text().replace("max_length: 24", "max_length: 8, truncation: random_spans")
    made.config.write_text(text.replace("{validation: 32, test: 64}", "{validation: 16}"))
    return made


@pytest.fixture(scope="module")
def poisoned(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Project:
    """Rows with numbers for labels, one of them so far off that its error outweighs all others."""
    made = make_project(tmp_path_factory.mktemp("poison"), model=tiny_bert, rows=96, config=HARD)
    rows = list(csv.reader(made.data.open()))
    scores = [["text", "label"], *([text, str(len(text) % 7 / 7)] for text, _ in rows[1:])]
    held_out = made.root / "held-out.csv"
    csv.writer(held_out.open("w", newline="")).writerows(scores[:17])
    scores[40][1] = "1e6"
    csv.writer(made.data.open("w", newline="")).writerows(scores)
    text = made.config.read_text().replace("text_classification,", "text_classification, kind: regression,")
    text = text.replace("length: 2 epochs", "loss_limit: 5, length: 2 epochs")
    made.config.write_text(text.replace("split: {validation: 32, test: 64}", f"validation: {held_out}"))
    return made


@dataclass
class Told:
    """Everything a run told, and what may happen when it tells something."""

    request: StopRequest = field(default_factory=StopRequest)
    events: list[Event] = field(default_factory=list)
    on_event: Callable[[Event], None] = lambda event: None

    def listen(self, event: Event) -> None:
        self.events.append(event)
        self.on_event(event)

    def notes(self, words: str) -> list[str]:
        return [event.message for event in self.events if isinstance(event, Noted) and words in event.message]


class Killed(BaseException):
    """Ends a run in the middle."""


def go(project: Project, run: Path, *overrides: str, told: Told | None = None) -> Ended:
    told = told or Told()
    directory = RunDirectory(run)
    resolved = load(str(project.config), overrides=overrides)
    settle_plan(directory, resolved)
    sinks = EventDispatcher(EventsFile(directory.events), 1, told.listen)
    trained = train_here(directory, sinks=sinks, request=told.request)
    sinks.close()
    return trained.ended


def at_step(step: int, action: Callable[[], object]) -> Callable[[Event], None]:
    return lambda event: action() and None if isinstance(event, Stepped) and event.step == step else None  # type: ignore[func-returns-value]


def digests(run: Path) -> dict[str, str]:
    last = max((run / "checkpoints").iterdir())
    files = (manifest.read(last) or {})["files"]
    return {name: each["sha256"] for name, each in files.items() if name not in ("state.json", "plan.yaml")}


def steps_of(run: Path) -> list[tuple[int, float, float]]:
    records = [record.event for record in EventsFile(run / "events.jsonl").read()]
    return [(event.step, event.loss, event.learning_rate) for event in records if isinstance(event, Stepped)]


def saved_steps(run: Path) -> list[int]:
    return [record.event.step for record in EventsFile(run / "events.jsonl").read() if isinstance(record.event, Saved)]


@pytest.fixture(scope="module")
def whole(project: Project) -> Path:
    go(project, project.run("whole"))
    return project.run("whole")


def test_every_checkpoint_is_told_once_and_before_the_end(whole: Path) -> None:
    events = [record.event for record in EventsFile(whole / "events.jsonl").read()]
    assert saved_steps(whole) == sorted(set(saved_steps(whole)))
    assert isinstance(events[-1], Ended)
    assert saved_steps(whole)[-1] == events[-1].step == 20


def kill() -> None:
    raise Killed


@pytest.mark.parametrize("stop_at", [4, 9, 13])
def test_stopped_or_killed_and_resumed_it_ends_with_the_same_bits(project: Project, whole: Path, stop_at: int) -> None:
    run = project.run(f"cut-{stop_at}")
    told = Told(on_event=at_step(stop_at, kill))
    with pytest.raises(Killed):
        go(project, run, told=told)
    stopped = Told()
    stopped.on_event = at_step(stop_at + 3, lambda: setattr(stopped.request, "reason", "preempted"))
    assert go(project, run, told=stopped).reason == "preempted"
    assert saved_steps(run)[-1] == stop_at + 3
    assert go(project, run).reason == "finished"
    assert digests(run) == digests(whole)
    assert steps_of(run) == steps_of(whole)


def test_a_checkpoint_that_nobody_was_told_of_is_told_at_the_resume(project: Project) -> None:
    run = project.run("untold")
    with pytest.raises(Killed):
        go(project, run, told=Told(on_event=at_step(5, kill)))
    lines = (run / "events.jsonl").read_text().splitlines(keepends=True)
    (run / "events.jsonl").write_text("".join(line for line in lines if '"saved"' not in line))
    go(project, run)
    assert 3 in saved_steps(run)
    assert len(saved_steps(run)) == len(set(saved_steps(run)))


def test_a_loss_over_the_limit_is_never_applied_its_batch_is_passed_over_and_training_goes_on(
    poisoned: Project,
) -> None:
    run, told = poisoned.run("skip"), Told()
    assert go(poisoned, run, told=told).reason == "finished"
    repairs = json.loads((run / "repairs.json").read_text())
    assert len(repairs["skipped"]) == 2  # the row comes once an epoch
    assert [epoch for epoch, _ in repairs["skipped"]] == [0, 1]
    assert len(told.notes("is passed over")) == 2
    assert [step for step, *_ in steps_of(run)] == list(range(1, 23))
    assert max(loss for _, loss, _ in steps_of(run)) < 5


@pytest.mark.parametrize("stop_at", [2, 12])
def test_a_run_that_was_mended_and_resumed_ends_with_the_same_bits(poisoned: Project, stop_at: int) -> None:
    run = poisoned.run(f"skip-cut-{stop_at}")
    with pytest.raises(Killed):
        go(poisoned, run, told=Told(on_event=at_step(stop_at, kill)))
    assert go(poisoned, run).reason == "finished"
    assert digests(run) == digests(poisoned.run("skip"))
    assert steps_of(run) == steps_of(poisoned.run("skip"))


def test_lowering_lowers_the_rate_from_the_checkpoint_on_and_gives_up_after_its_tries(poisoned: Project) -> None:
    run, told = poisoned.run("lower"), Told()
    with pytest.raises(BurnishError, match=r"gave a loss of \d+.* and 2 recoveries did not help") as refused:
        go(poisoned, run, "train.recovery={action: lower, tries: 2}", told=told)
    assert "data.csv:41" in str(refused.value)
    assert "lower optimizer.learning_rate" in str(refused.value)
    assert json.loads((run / "repairs.json").read_text())["lowered"][-1][1] == 0.5
    assert len(told.notes("learning rate is multiplied by 0.5")) == 2


def test_a_loss_over_the_limit_without_a_checkpoint_goes_back_to_the_beginning(project: Project) -> None:
    run, told = project.run("limit"), Told()
    with pytest.raises(BurnishError, match=r"train.loss_limit is 0.001\), and 3 recoveries did not help"):
        go(project, run, "train.loss_limit=0.001", told=told)
    assert len(told.notes("going back to step 0")) == 3
    assert steps_of(run) == []
    assert sum(isinstance(event, Started) for event in told.events) == 4


def test_stop_ends_the_run_at_once(project: Project) -> None:
    with pytest.raises(BurnishError, match=r"step 1 gave a loss of .* and train.recovery.action is stop"):
        go(project, project.run("stop"), "train.loss_limit=0.001", "train.recovery=stop")


@pytest.fixture
def small_disk(tmp_path: Path, whole: Path) -> Iterator[Callable[[float], Path]]:
    """Give a disk with room for so many checkpoints."""
    size = sum(path.stat().st_size for path in max((whole / "checkpoints").iterdir()).iterdir())
    mounted: list[Path] = []

    def mount(checkpoints: float) -> Path:
        folder = tmp_path / "disk"
        folder.mkdir()
        options = f"size={int(size * checkpoints)}"
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "--lazy", folder], check=True)


def check_whole(run: Path, *, at_least: int) -> None:
    folders = list((run / "checkpoints").iterdir())
    assert [manifest.fault(folder) for folder in folders] == [None] * len(folders)
    assert len(folders) >= at_least


def test_on_a_full_disk_old_checkpoints_go_first_and_the_run_ends_as_ever(
    project: Project, whole: Path, small_disk: Callable[[float], Path]
) -> None:
    run, told = small_disk(3.5) / "run", Told()
    assert go(project, run, "train.keep=100", told=told).reason == "finished"
    assert told.notes("the disk is full; deleted the checkpoint of step 3")
    check_whole(run, at_least=2)
    assert digests(run) == digests(whole)


def test_with_nothing_to_delete_the_run_waits_tells_and_goes_on_when_there_is_room(
    project: Project, whole: Path, small_disk: Callable[[float], Path]
) -> None:
    disk = small_disk(4.5)
    ballast = disk / "ballast"
    ballast.write_bytes(b"0" * int(0.85 * shutil.disk_usage(disk).free))
    told = Told()
    told.on_event = lambda event: ballast.unlink(missing_ok=True) if told.notes("has no room") else None
    assert go(project, disk / "run", told=told).reason == "finished"
    assert len(told.notes("training waits up to 60 minutes for room")) == 1
    check_whole(disk / "run", at_least=1)
    assert digests(disk / "run") == digests(whole)


def test_when_it_may_not_wait_it_ends_with_the_figures_and_no_torn_checkpoint(
    project: Project, small_disk: Callable[[float], Path]
) -> None:
    disk = small_disk(0.9)
    with pytest.raises(CheckpointError, match=r"has no room for a checkpoint: it takes [\d,]+ bytes and [\d,]+ are"):
        go(project, disk / "run", "train.disk_wait=never")
    assert list((disk / "run" / "checkpoints").iterdir()) == []


def test_an_injected_full_disk_is_waited_for_too(
    project: Project, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from burnish.engine.snapshot_torch import Snapshot

    write, faults = Snapshot.write, iter([True, False, True, True])

    def tight(self: Snapshot, folder: Path) -> None:
        write(self, folder)
        if next(faults, False):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(Snapshot, "write", tight)
    told = Told()
    assert go(project, project.run("injected"), told=told).reason == "finished"
    assert told.notes("has no room")
    assert digests(project.run("injected")) == digests(whole)
