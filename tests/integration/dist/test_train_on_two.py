"""Whole runs on one and two processes: stopped, killed, and resumed on another number of them."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from burnish.commands.evaluate import evaluate
from burnish.commands.train import resume
from burnish.commands.train import train
from burnish.errors import LaunchError
from burnish.run.record.result import RunResult
from burnish.spec.events import Event, Noted, Started, Stepped
from tests.project import Project, make_project

CONFIG = """\
optimizer: {learning_rate: 1e-3}
train: {length: 6 epochs, evaluate_every: 3 epochs, checkpoint_every: 16 steps, batch: 7}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Project:
    project = make_project(tmp_path_factory.mktemp("project"), model=tiny_bert, rows=600, config=CONFIG)
    text = project.config.read_text().replace("validation: 32, test: 64", "validation: 150, test: 200")
    project.config.write_text(text.replace(f"model: {tiny_bert}", f"model: {{name: {tiny_bert}, dropout: 0.1}}"))
    return project


@pytest.fixture(scope="module")
def together(project: Project) -> RunResult:
    """A run of two processes that went through without trouble."""
    return train(str(project.config), directory=project.run("together"), processes=2)


def test_two_processes_finish_a_run_and_leave_what_one_would(together: RunResult) -> None:
    names = {path.name for path in together.directory.iterdir()}
    assert {"scores.json", "artifact", "predictions", "report.html", "exit.json", "profile.json"} <= names
    assert not {"lock.json", "quarantine"} & names
    assert together.reason == "finished"
    started = [line for line in lines_of(together.directory) if line["event"] == "started"]
    assert [line["facts"]["processes"] for line in started] == [2]
    steps = [line["step"] for line in lines_of(together.directory) if line["event"] == "stepped"]
    assert steps == list(range(1, len(steps) + 1))


def test_scores_of_two_processes_are_those_of_one_to_the_last_digit(together: RunResult) -> None:
    assert evaluate(str(together.directory), split="test").scores == together.scores["test"]


@pytest.mark.timeout(600)  # five processes start one after another, and a busy machine takes its time
def test_a_run_goes_on_over_one_two_and_one_processes_with_the_same_data(project: Project, together: RunResult) -> None:
    run = project.run("moved")
    with pytest.raises(LaunchError, match=r"process 1 of 2 \(pid \d+\) was ended by SIGKILL"):
        train(
            str(project.config),
            directory=run,
            processes=2,
            watch=once_at(30, lambda: os.kill(second_process_of(run), signal.SIGKILL)),
        )
    assert ending_of(run) == "failed"
    assert resume(run, watch=once_at(70, (run / "STOP").touch)).reason == "stop_file"
    stopped = resume(run, processes=2, watch=once_at(110, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    assert stopped.reason == "preempted"
    assert 110 <= stopped.step < 200
    events: list[Event] = []
    assert resume(run, watch=events.append).reason == "finished"
    assert any(isinstance(e, Noted) and e.message == f"continuing from step {stopped.step}" for e in events)
    assert sum(isinstance(e, Started) for e in events) == 1
    assert_same_training(run, together.directory)


def assert_same_training(run: Path, other: Path) -> None:
    mine, theirs = steps_of(run), steps_of(other)
    assert len(mine) == len(theirs) > 200
    for one, two in zip(mine, theirs, strict=True):
        for name in ("step", "epoch", "examples", "tokens", "learning_rate"):
            assert one[name] == two[name]
        assert one["loss"] == pytest.approx(two["loss"], abs=1e-4)
    assert mine[0]["gradient_norm"] == pytest.approx(theirs[0]["gradient_norm"], abs=1e-6)


def once_at(step: int, act: Callable[[], object]) -> Callable[[Event], None]:
    """Act when a step is reached, in the middle of the events of a run."""
    acts = [act]

    def watch(event: Event) -> None:
        if isinstance(event, Stepped) and event.step >= step and acts:
            acts.pop()()

    return watch


def second_process_of(run: Path) -> int:
    first = int(json.loads((run / "lock.json").read_text())["pid"])
    agent = int(Path(f"/proc/{first}/stat").read_text().rsplit(")", 1)[1].split()[1])
    children = Path(f"/proc/{agent}/task/{agent}/children").read_text().split()
    return next(int(child) for child in children if int(child) != first)


def ending_of(run: Path) -> str:
    return str(json.loads((run / "exit.json").read_text())["reason"])


def lines_of(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]


def steps_of(run: Path) -> list[dict]:
    return [line for line in lines_of(run) if line["event"] == "stepped"]
