"""Launch options of another launcher than the one that runs the job: said, and never lost."""

import json
from pathlib import Path

import pytest

from burnish.cli.main import run
from burnish.errors import ConfigError
from burnish.launch.options import read_launcher


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text("")
    Path("rides.csv").write_text("fare,tip\n1.5,yes\n2.5,no\n")
    Path("rides.yaml").write_text("task: {type: tabular, target: tip}\ndata: {train: rides.csv}\nmodel: linear\n")
    Path("launch.yaml").write_text("type: kubernetes\nfiles: [own.py]\nimage: team/mine:1\n")


@pytest.mark.parametrize(
    "written", ["type: kubernetes\nfiles: [own.py]\n", "launch: {type: kubernetes, files: [own.py]}\n"]
)
def test_options_of_another_launcher_are_refused_with_what_would_be_lost(written: str) -> None:
    Path("launch.yaml").write_text(written)
    with pytest.raises(ConfigError) as refused:
        read_launcher("vertex", ["launch.yaml", "bucket=b"])
    said = str(refused.value)
    assert "launch.yaml" in said
    assert "are options of kubernetes (files), and the job runs on vertex" in said


def test_a_word_that_names_another_launcher_is_refused_too() -> None:
    with pytest.raises(ConfigError, match="options of slurm"):
        read_launcher("vertex", ["type=slurm"])


def test_options_of_the_same_launcher_and_of_none_are_read() -> None:
    Path("more.yaml").write_text("files: [own.py]\n")
    assert read_launcher("kubernetes", ["launch.yaml", "image=other:2"]).files == ("own.py",)
    assert read_launcher("slurm", ["more.yaml"]).files == ("own.py",)


def test_a_package_takes_the_files_that_a_launch_file_of_any_type_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["package", "rides.yaml", "-l", "launch.yaml", "--out", "packed"]) == 0
    assert Path("packed/files/own.py").exists()
    capsys.readouterr()
    assert run(["image", "build", "team/mine:1", "-l", "launch.yaml", "--dry-run"]) == 0
    assert "own.py" in capsys.readouterr().err


def test_what_travels_and_what_stays_is_listed_with_sizes_before_anything_is_sent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("mine").mkdir()
    Path("mine/.env").write_text("TOKEN=abc")
    Path("mine/big.py").write_text("x" * 12_345)
    Path("launch.yaml").write_text("files: [mine]\n")
    assert run(["train", "rides.yaml", "--on", "vertex", "--dry-run", "-l", "launch.yaml", "launch.bucket=b"]) == 0
    said = capsys.readouterr()
    assert "12.3 kB  files/mine/big.py" in said.err
    assert "mine/.env (may hold secrets)" in said.err
    found = json.loads(said.out)
    assert {name.partition("/files/")[2]: size for name, size in found["bytes"].items()}["mine/big.py"] == 12_345
    assert found["left_behind"] == {"mine/.env": "may hold secrets"}
    assert run(["package", "rides.yaml", "-l", "launch.yaml", "--out", "packed"]) == 0
    said = capsys.readouterr()
    assert "12.3 kB  files/mine/big.py" in said.out
    assert "mine/.env (may hold secrets)" in said.out
    assert not Path("packed/files/mine/.env").exists()
    assert run(["train", "rides.yaml", "--on", "vertex", "-l", "launch.yaml", "--yes"]) != 0
    assert "mine/.env (may hold secrets)" in capsys.readouterr().err
