"""`burnish plan` foresees what the run then comes to."""

import json
from pathlib import Path

import pytest

from burnish.commands.plan import plan
from burnish.commands.train import train
from burnish.errors import BurnishError
from burnish.spec.events import Evaluated, Event, Started
from tests.project import Project, make_project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Project:
    return make_project(tmp_path_factory.mktemp("forecast"), model=tiny_bert)


def test_it_counts_what_the_run_counts(project: Project) -> None:
    overrides = ["train.evaluate_every=0.5 epochs"]
    told = plan(project.config, overrides=overrides, directory=project.run("planned"))
    assert not project.run("planned").exists()
    events: list[Event] = []
    result = train(project.config, overrides=overrides, directory=project.run("real"), watch=events.append)
    started = next(event for event in events if isinstance(event, Started))
    assert told.steps == started.total_steps == result.step
    assert told.evaluations == sum(isinstance(event, Evaluated) for event in events)
    assert {name: started.facts[name] for name in told.facts} == told.facts
    checkpoints = list((project.run("real") / "checkpoints").rglob("*.safetensors"))
    kept = len({path.parent for path in checkpoints})
    on_disk = sum(path.stat().st_size for path in checkpoints) / kept
    assert told.footprint.checkpoint_bytes == pytest.approx(on_disk, rel=0.1)
    assert told.seconds > 0
    assert told.footprint.memory_bytes > 10**8
    assert told.problems == ()


def test_what_cannot_fit_is_a_problem(project: Project) -> None:
    (problem,) = plan(project.config, overrides=["train.keep.last=1000000000"]).problems
    assert "the disk has" in problem


def test_bad_data_is_refused_as_in_training(project: Project) -> None:
    with pytest.raises(BurnishError, match="nowhere"):
        plan(project.config, overrides=["task.text=nowhere"])


def test_the_command_line_tells_it_in_lines_and_as_json(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from burnish.cli.main import run

    monkeypatch.chdir(tmp_path)
    assert run(["plan", str(project.config), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["steps"] == 64
    assert told["problems"] == []
    assert run(["plan", str(project.config), "train.keep.last=1000000000"]) == 6
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()] == [
        "data", "tokens", "training", "scoring", "time", "memory", "disk", "does",
    ]  # fmt: skip
    assert list(tmp_path.iterdir()) == []
