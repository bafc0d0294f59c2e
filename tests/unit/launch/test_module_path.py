"""A worker finds the modules that its starter found."""

import os
import site
import subprocess
import sys
from pathlib import Path

from burnish.launch.module_path import module_path


def test_folders_of_ones_own_are_handed_on_after_those_asked_for(tmp_path: Path) -> None:
    mine, asked = tmp_path / "mine", tmp_path / "asked"
    mine.mkdir()
    given = module_path({"PYTHONPATH": str(asked)}, searched=[str(mine), str(asked), str(tmp_path / "not there")])
    assert given == {"PYTHONPATH": f"{asked}{os.pathsep}{mine}"}


def test_what_every_interpreter_searches_is_left_to_it() -> None:
    assert module_path({}, searched=[*site.getsitepackages(), os.path.dirname(os.__file__)]) == {}


def test_an_interpreter_started_so_imports_what_this_one_can(tmp_path: Path) -> None:
    (tmp_path / "handed_on.py").write_text("WORD = 'here'\n")
    env = {**os.environ, **module_path(os.environ, searched=[str(tmp_path)])}
    command = [sys.executable, "-c", "import handed_on; print(handed_on.WORD)"]
    assert subprocess.run(command, env=env, cwd="/", capture_output=True, text=True).stdout == "here\n"
