"""A drill and a rerun with real processes: exact when all is well, and telling when it is not."""

import json
from pathlib import Path
from random import Random

import pytest

from burnish.commands.drill import drill
from burnish.commands.rerun import rerun
from burnish.commands.train import train
from tests.project import Project, make_project

CONFIG = """\
optimizer: {learning_rate: 3e-3}
train: {length: 400 steps, batch: 8, accumulate: 2, ema: 0.9, evaluate_every: 100 steps, checkpoint_every: 5 steps}
"""
SHORT = ["train.length=12 steps", "train.evaluate_every=6 steps"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Project:
    return make_project(tmp_path_factory.mktemp("drill"), model=tiny_bert, config=CONFIG)


def test_a_drill_on_a_sound_experiment_is_exact_and_leaves_nothing(project: Project, tmp_path: Path) -> None:
    result = drill(str(project.config), directory=tmp_path, minutes=0.1, random=Random(0))
    assert result.differences == ()
    assert [each.signal for each in result.interruptions] == ["SIGTERM", "SIGKILL"]
    assert result.steps >= 8
    assert 0 < result.lost_seconds < result.seconds
    assert list(tmp_path.iterdir()) == []


def test_a_rerun_is_exact_and_a_difference_is_named_with_the_environment(project: Project) -> None:
    run = project.run("first")
    train(str(project.config), directory=run, overrides=SHORT)
    again = rerun(run, verify=True)
    assert again.is_exact
    assert again.result.directory == project.run("first-rerun")
    pretend_another_environment(run)
    other = rerun(run, directory=project.run("other"), verify=True)
    assert not other.is_exact
    assert other.differences[0].first == "stepped 3: loss is 9.0 and " + other.differences[0].first.split(" and ")[1]
    assert other.environment == ("torch was 1.0 and is " + other.environment[0].split(" is ")[1],)


def pretend_another_environment(run: Path) -> None:
    """Change a loss and a version in the record of a run, as another library might have."""
    lines = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    for line in lines:
        if line["event"] == "started":
            line["facts"]["environment"]["torch"] = "1.0"
        if (line["event"], line["step"]) == ("stepped", 3):
            line["loss"] = 9.0
    (run / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
