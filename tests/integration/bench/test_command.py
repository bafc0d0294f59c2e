"""`burnish bench` measures an experiment of one's own, on a tiny model."""

from pathlib import Path

import pytest

from burnish.cli.main import run
from burnish.commands.bench import bench
from burnish.errors import ConfigError, DataError
from tests.project import Project, make_project


@pytest.fixture
def project(tiny_bert: Path, tmp_path: Path) -> Project:
    return make_project(tmp_path / "project", model=tiny_bert)


def test_a_user_sees_how_fast_an_experiment_is(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", str(project.config), "--rows", "16", "--rounds", "1"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("16 rows, 1 rounds, fp32, threads 1\n")
    for line in ("training, examples/s", "waiting for data", "inference, tokens/s"):
        assert line in said.out
    assert said.err.splitlines() == ["preparing the data", "warming up", "round 1 of 1"]


def test_what_a_worker_refuses_is_refused(project: Project) -> None:
    with pytest.raises(DataError, match="no column `nothing`"):
        bench(project.config, overrides=["task.text=nothing"], rows=16, rounds=1)


def test_boosted_trees_have_no_steps_to_measure(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{n},{n % 3}\n" for n in range(60)))
    config = tmp_path / "t.yaml"
    config.write_text(f"task: {{type: tabular, target: b}}\nmodel: gbdt\ndata: {{train: {tmp_path}/t.csv}}\n")
    with pytest.raises(ConfigError, match="boosted trees have no steps"):
        bench(config)
