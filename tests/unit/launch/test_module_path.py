"""A worker finds the modules that its starter found."""

import os
import site
import subprocess
import sys
from pathlib import Path

import pytest

from burnish.launch.local import start_worker
from burnish.launch.module_path import find_modules_here, module_path


def test_folders_of_ones_own_are_handed_on_after_those_asked_for(tmp_path: Path) -> None:
    mine, asked = tmp_path / "mine", tmp_path / "asked"
    mine.mkdir()
    given = module_path({"PYTHONPATH": str(asked)}, searched=[str(mine), str(asked), str(tmp_path / "not there")])
    assert given["PYTHONPATH"] == f"{asked}{os.pathsep}{mine}"


def test_what_every_interpreter_searches_is_left_to_it() -> None:
    assert "PYTHONPATH" not in module_path({}, searched=[*site.getsitepackages(), os.path.dirname(os.__file__)])


def test_an_interpreter_started_so_imports_what_this_one_can(tmp_path: Path) -> None:
    (tmp_path / "handed_on.py").write_text("WORD = 'here'\n")
    env = {**os.environ, **module_path(os.environ, searched=[str(tmp_path)])}
    command = [sys.executable, "-c", "import handed_on; print(handed_on.WORD)"]
    assert subprocess.run(command, env=env, cwd="/", capture_output=True, text=True).stdout == "here\n"


def test_the_folder_one_stands_in_is_searched_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("raise SystemExit('a stranger's json')\n")
    (tmp_path / "of_ones_own.py").write_text("WORD = 'here'\n")
    env = {**os.environ, **module_path(os.environ, searched=["", str(tmp_path)])}
    code = "from burnish.launch.module_path import find_modules_here as find; find(); import json, of_ones_own as own; "
    command = [sys.executable, "-c", f"{code} print(json.dumps(own.WORD))"]
    assert subprocess.run(command, env=env, capture_output=True, text=True).stdout == '"here"\n'


def test_a_folder_that_was_not_searched_is_not_searched_by_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BURNISH_MODULES_HERE", module_path({}, searched=[])["BURNISH_MODULES_HERE"])
    monkeypatch.setattr(sys, "path", [*sys.path])
    find_modules_here()
    assert str(tmp_path) not in sys.path


def test_no_module_of_the_folder_one_stands_in_is_taken_for_a_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("json", "numpy", "pyarrow", "torch", "yaml"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    worker = start_worker(["burnish.run.worker", "."])
    assert "is no run" in worker.communicate()[0]
    assert not (tmp_path / "ran").exists()


MINE = """\
from typing import ClassVar
from burnish.spec.component import Component
class Mine(Component):
    is_random: ClassVar[bool] = False
    def select(self, length, *, limit, random): return []
"""


def test_a_command_that_a_job_starts_finds_what_the_job_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "of_ones_own.py").write_text(MINE)
    task = "{type: text_classification, truncation: 'of_ones_own:Mine'}"
    (tmp_path / "x.yaml").write_text(f"task: {task}\ndata: x.csv\nmodel: x/y\n")
    env = {**os.environ, **module_path(os.environ, searched=[str(tmp_path)])}
    command = [sys.executable, "-m", "burnish", "config", "show", "./x.yaml"]
    told = subprocess.run(command, env=env, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
