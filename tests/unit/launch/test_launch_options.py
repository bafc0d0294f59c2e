"""What is said of files that travel, before they do."""

import json
from pathlib import Path

import pytest

from burnish.cli.main import run


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text("")
    Path("rides.csv").write_text("fare,tip\n1.5,yes\n2.5,no\n")
    Path("rides.yaml").write_text("task: {type: tabular, target: tip}\ndata: {train: rides.csv}\nmodel: linear\n")
    Path("launch.yaml").write_text("type: kubernetes\nfiles: [own.py]\nimage: team/mine:1\n")


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
