"""The command line as a user starts it: another process, its output and its exit code."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.commands.run_maker import make_run

HEAVY = {"torch", "transformers", "sklearn", "datasets", "tensorboard", "peft", "numpy", "pyarrow", "pandas"}
WRONG = ["train", "mine.yaml", "train.batch_siz=3", "optimizer.learning_rate=fast"]
MINE = "task: text_classification\ndata:\n  train: train.csv\nmodel: bert-base-uncased\n"


def burnish(*words: str, directory: Path, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *options, "-m", "burnish", *words]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "mine.yaml").write_text(MINE)
    return tmp_path


def test_help_tells_every_verb(tmp_path: Path) -> None:
    answer = burnish("--help", directory=tmp_path)
    assert (answer.returncode, answer.stderr) == (0, "")
    for verb in ("list", "new", "config", "train", "evaluate", "predict", "runs", "resume"):
        assert f"\n  {verb} " in answer.stdout


def test_version(tmp_path: Path) -> None:
    from burnish import __version__

    assert burnish("--version", directory=tmp_path).stdout == f"burnish {__version__}\n"


def test_an_unknown_verb_gets_a_suggestion(tmp_path: Path) -> None:
    answer = burnish("trian", directory=tmp_path)
    assert answer.returncode == 2
    assert answer.stderr.startswith("error: no such command 'trian'. Did you mean 'train'?")


def test_an_unknown_experiment_gets_a_suggestion_and_leaves_nothing_behind(tmp_path: Path) -> None:
    answer = burnish("train", "glue/sst", directory=tmp_path)
    assert answer.returncode == 2
    assert "no experiment is called 'glue/sst'. Did you mean `glue/sst2`?" in answer.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_config_is_refused_whole_with_exit_code_2(project: Path) -> None:
    answer = burnish(*WRONG, directory=project)
    assert (answer.returncode, answer.stdout) == (2, "")
    assert answer.stderr.startswith("error: the experiment has 2 problems\n\n")
    assert "Did you mean `train.batch`?" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert not (project / "runs").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["list"],
        ["runs", "ls"],
        ["train", "nothing"],
        WRONG,
        ["config", "check", "glue/stsb"],
        ["config", "show", "glue/mnli", "metrics=[confusion, calibration_error, pr_auc, r2]"],
        ["config", "schema"],
    ],
    ids=" ".join,
)
def test_nothing_heavy_is_imported_to_answer(project: Path, words: list[str]) -> None:
    assert imported_by(project, *words) & HEAVY == set()


def test_a_look_at_the_columns_of_the_data_loads_what_reads_them_and_nothing_that_trains(project: Path) -> None:
    words = ["train", "mine.yaml", "task.kind=regression", "metrics=[f1]", "train.select=accuracy"]
    assert imported_by(project, *words) & HEAVY <= {"numpy", "pyarrow"}


def imported_by(project: Path, *words: str) -> set[str]:
    answer = burnish(*words, directory=project, options=("-X", "importtime"))
    lines = [line for line in answer.stderr.splitlines() if line.startswith("import time:")]
    imported = {line.rpartition("|")[2].strip() for line in lines}
    assert "burnish.cli.main" in imported
    return imported


def test_a_wrong_config_costs_little_more_than_the_libraries_under_it(project: Path) -> None:
    """Compare in the same minute with an interpreter that imports the command-line and validation libraries."""
    libraries = cpu_seconds([sys.executable, "-c", "import pydantic, typer"], directory=project)
    refusal = cpu_seconds([sys.executable, "-m", "burnish", *WRONG], directory=project)
    assert refusal < 6 * libraries, f"the refusal took {refusal:.2f} s, its libraries alone {libraries:.2f} s"


def cpu_seconds(command: list[str], *, directory: Path, repeats: int = 3) -> float:
    """Take the least of a few: time on the processor, for a busy machine only makes the clock run on."""
    return min(_cpu_seconds(command, directory) for _ in range(repeats))


def _cpu_seconds(command: list[str], directory: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=directory, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_closed_pipe_is_no_bug(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "burnish", "list"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    told = process.stderr.read()
    process.wait(timeout=60)
    process.stderr.close()
    assert "Traceback" not in told
    assert "bug" not in told


def test_output_survives_a_terminal_that_knows_no_unicode(tmp_path: Path) -> None:
    make_run(tmp_path / "a")
    command = [sys.executable, "-m", "burnish", "runs", "show", "a"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    answer = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False)
    assert answer.returncode == 0, answer.stderr
    assert "?" in answer.stdout


def test_an_output_that_cannot_be_written_is_no_bug(tmp_path: Path) -> None:
    make_run(tmp_path / "runs" / "one", started=1_000.0)
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "burnish", "runs", "ls"]
        ended = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: standard output could not be written: No space left on device")
    assert "bug" not in ended.stderr
