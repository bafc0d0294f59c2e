"""A signal in the first seconds of a command, wherever it is then: a documented exit code, and a sentence."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

CONFIG = """\
task: {type: tabular, target: y}
data: {train: rows.csv, split: {validation: 20}}
model: linear
train: {length: 4 steps, batch: 20}
runtime: {threads: 1}
"""
SLOW = """\
import sys, time

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            print("importing", file=sys.stderr, flush=True)
            time.sleep(60)

sys.meta_path.insert(0, Slow())
"""
"""As on a machine that has no time: the import of a module takes long."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    rows = [f"{number / 100},{'yes' if number > 50 else 'no'}" for number in range(100)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,y", *rows]) + "\n")
    (tmp_path / "config.yaml").write_text(CONFIG)
    return tmp_path


def stop_while_importing(project: Path, module: str, number: int, *words: str) -> tuple[int, str]:
    (project / "slow").mkdir()
    (project / "slow" / "sitecustomize.py").write_text(SLOW.format(module=module))
    environment = {**os.environ, "PYTHONPATH": f"{project / 'slow'}:{Path(__file__).parents[3] / 'src'}"}
    command = [sys.executable, "-m", "burnish", *words]
    with subprocess.Popen(command, cwd=project, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said = ""
            while "importing" not in said:
                line = process.stderr.readline()
                assert line, said
                said += line
            process.send_signal(number)
            _, rest = process.communicate(timeout=50)
        finally:
            process.kill()
    return process.returncode, rest


TRAIN = ("train", "config.yaml", "--dir", "run")
EARLY = ("typer", "burnish.cli.verb", "burnish.config", "burnish.commands.train", "pyarrow", "burnish.launch.local")


@pytest.mark.timeout(240)
@pytest.mark.parametrize("module", EARLY)
def test_a_run_that_is_told_to_end_before_it_has_begun_says_so(project: Path, module: str) -> None:
    code, said = stop_while_importing(project, module, signal.SIGTERM, *TRAIN)
    assert (code, "Traceback" in said) == (75, False), said
    assert "stopped by SIGTERM" in said
    if module == EARLY[-1]:  # by then the folder of the run is there
        again = [sys.executable, "-m", "burnish", *TRAIN, "--quiet"]
        assert subprocess.run(again, cwd=project).returncode == 0


def test_a_worker_that_is_told_to_end_before_it_listens_is_a_run_that_was_stopped(
    project: Path,
) -> None:
    code, said = stop_while_importing(project, "burnish.run.worker", signal.SIGTERM, *TRAIN)
    assert (code, "Traceback" in said) == (75, False), said


@pytest.mark.parametrize("module", ["typer", "burnish.config"])
@pytest.mark.parametrize("words", [TRAIN, ("config", "check", "config.yaml")])
def test_ctrl_c_before_anything_has_begun_gives_no_traceback(
    project: Path, module: str, words: tuple[str, ...]
) -> None:
    code, said = stop_while_importing(project, module, signal.SIGINT, *words)
    assert (code, "Traceback" in said) == (130, False), said


def test_a_command_that_only_reads_ends_by_the_signal(project: Path) -> None:
    code, _ = stop_while_importing(project, "burnish.config", signal.SIGTERM, "config", "check", "config.yaml")
    assert code == -signal.SIGTERM
