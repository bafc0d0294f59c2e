"""`burnish bench` measures an experiment of one's own, on a tiny model."""

from pathlib import Path

import pytest

from burnish.bench import roof_torch
from burnish.cli.main import run
from burnish.commands import bench as command
from tests.integration.bench.in_threads import started
from tests.project import Project, make_project


@pytest.fixture
def project(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setattr(command, "started", started)
    monkeypatch.setattr(roof_torch, "_SIZES", (64,))
    monkeypatch.setattr(roof_torch, "_LEAST_SECONDS", 0.01)
    return make_project(tmp_path / "project", model=tiny_bert)


def test_a_user_is_told_how_fast_an_experiment_is(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", str(project.config), "--rows", "16", "--rounds", "1", "-q"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("16 rows, 1 rounds, fp32, threads 1\n")
    for line in ("training, examples/s", "waiting for data", "% of that peak", "training, times Trainer"):
        assert line in said


def test_a_model_that_trainer_cannot_train_alike_is_measured_alone(project: Project) -> None:
    result = command.bench(project.config, overrides=["model.freeze=1"], rows=16, rounds=1)
    assert (result.peak, dict(result.over_trainer)) == (None, {})
    assert result.notes == ("not compared: Trainer would train all weights, and this experiment trains a part of them",)
