"""Idle threads of a training process sleep soon, unless the user chose how they wait."""

import subprocess
import sys
from pathlib import Path

import pytest

from burnish.launch.local import start_worker
from burnish.launch.openmp import openmp_settings


def test_threads_spin_only_briefly() -> None:
    assert 0 < int(openmp_settings({})["GOMP_SPINCOUNT"]) < 300_000


@pytest.mark.parametrize("name", ["GOMP_SPINCOUNT", "OMP_WAIT_POLICY"])
def test_what_the_user_chose_is_left_alone(name: str) -> None:
    assert openmp_settings({name: "x"}) == {}


def test_a_worker_is_started_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # away from the folder of the tests, which is not searched when a module is started
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    worker = start_worker(["tests.unit.launch.show_environment", "GOMP_SPINCOUNT"])
    assert worker.communicate()[0].strip() == openmp_settings({})["GOMP_SPINCOUNT"]


def test_the_command_line_sets_it_before_torch_can_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    code = (
        "import os, sys, burnish.cli.main as main\n"
        "main.run = lambda argv: print(os.environ.get('GOMP_SPINCOUNT'), 'torch' in sys.modules) or 0\n"
        "main.main()"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split() == [openmp_settings({})["GOMP_SPINCOUNT"], "False"]
