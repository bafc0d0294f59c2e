"""Bad numbers and memory that runs out on one of two processes: both mend it alike, and a resume does it again."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish.commands.drill import drill
from burnish.commands.rerun import rerun
from burnish.commands.train import resume
from burnish.commands.crash.sameness import find_differences
from burnish.commands.train import train
from burnish.errors import LaunchError
from burnish.run.record.directory import RunDirectory
from burnish.spec.events import Event, Noted
from tests.faulty_model import POISON, ROOM, Tight, poisoned_model
from tests.project import Project, make_project, write_rows

CONFIG = """\
optimizer: {learning_rate: 1e-3}
train: {length: 24 steps, evaluate_every: 8 steps, checkpoint_every: 5 steps, batch: 12, ema: 0.9}
"""
TIGHT = json.dumps({"rank": 1, "learn": 60, "answer": 300})


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = tmp_path_factory.mktemp("faults-on-two")
    made = make_project(root, model=poisoned_model(root / "model"), rows=96, config=CONFIG)
    write_rows(root / "held-out.csv", 128, seed=1)
    lines = made.data.read_text().splitlines()
    lines[40] = lines[40].replace(",", f" {POISON},")
    made.data.write_text("\n".join(lines) + "\n")
    text = made.config.read_text().replace("split: {validation: 32, test: 64}", f"validation: {root}/held-out.csv")
    address = f"{Tight.__module__}:{Tight.__name__}"
    made.config.write_text(text.replace(f"model: {root}/model", f"model: {{type: '{address}', name: {root}/model}}"))
    return made


@pytest.fixture(scope="module")
def _tight() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ROOM, TIGHT)
        yield


@pytest.fixture(scope="module")
def mended(project: Project, _tight: None) -> tuple[RunDirectory, list[Event]]:
    """A run of two processes in which everything went wrong that can be mended, and nobody disturbed it."""
    events: list[Event] = []
    result = train(str(project.config), directory=project.run("mended"), processes=2, watch=events.append)
    assert result.reason == "finished"
    return RunDirectory(result.directory), events


def test_what_one_process_could_not_bear_is_mended_by_both_and_told_once(
    mended: tuple[RunDirectory, list[Event]],
) -> None:
    run, events = mended
    repairs = json.loads(run.repairs.read_text())
    assert len(repairs["skipped"]) == 3  # the row comes once an epoch
    assert repairs["split"]
    assert repairs["split_evaluations"]
    told = [event.message for event in events if isinstance(event, Noted)]
    assert sum("is passed over" in sentence for sentence in told) == 3
    assert sum("memory ran out in step" in sentence for sentence in told) == len(repairs["split"])
    assert sum("memory ran out in scoring" in sentence for sentence in told) == len(repairs["split_evaluations"])


def test_killed_afterwards_and_resumed_with_all_memory_it_ends_with_the_same_bits(
    project: Project, mended: tuple[RunDirectory, list[Event]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = project.run("killed")
    monkeypatch.setenv(ROOM, json.dumps({**json.loads(TIGHT), "answers": 7}))  # in step 17, after two evaluations
    with pytest.raises(LaunchError, match="process 1 of 2 .* was ended by SIGKILL"):
        train(str(project.config), directory=run, processes=2)
    assert json.loads((run / "repairs.json").read_text())["split_evaluations"]
    monkeypatch.delenv(ROOM)
    assert resume(run, processes=2).reason == "finished"
    assert find_differences(mended[0], RunDirectory(run)) == []


def test_a_rerun_on_two_processes_is_exact(project: Project, mended: tuple[RunDirectory, list[Event]]) -> None:
    again = rerun(mended[0].path, directory=project.run("again"), processes=2, verify=True)
    assert [str(each) for each in again.differences] == []
    assert again.is_exact


@pytest.mark.timeout(600)  # twelve processes start, some of them one after another
def test_a_drill_on_two_processes_is_exact(project: Project, tmp_path: Path, _tight: None) -> None:
    endless = ["train.length=4000 steps", "train.recovery.tries=500"]
    result = drill(str(project.config), overrides=endless, directory=tmp_path, processes=2, minutes=0.1)
    assert [str(each) for each in result.differences] == []
    assert [each.signal for each in result.interruptions] == ["SIGTERM", "SIGKILL"]
