"""What a refused command prints to standard error, and the exit code it leaves with."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from burnish.cli.main import run
from burnish.errors import (
    BurnishError,
    CheckpointError,
    ConfigError,
    DataError,
    LaunchError,
    MissingExtra,
    Problem,
    ServeError,
)

Golden = Callable[[str, str], None]

MINE = """\
task: text_classification
data:
  train: train.csv
model: bert-base-uncased
optimizer:
  learning_rate: 2e-5
"""
THREE = ConfigError(
    [
        Problem(
            "task.max_length must be at most 512, got 900",
            ("set by task.max_length=900 on the command line", "replacing 128 from glue/sst2.yaml:4"),
        ),
        Problem("train.batch_siz: no such option. Did you mean `train.batch`?", ("set by mine.yaml:2",)),
        Problem("optimizer.learning_rate must be a number, got 'fast'", ("set by mine.yaml:3",)),
    ]
)


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def train(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setitem(sys.modules, "burnish.commands.train", SimpleNamespace(train=train))


def test_all_problems_of_a_config(
    monkeypatch: pytest.MonkeyPatch, golden: Golden, capsys: pytest.CaptureFixture[str]
) -> None:
    raising(monkeypatch, THREE)
    assert run(["train", "x", "--quiet"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    golden("errors/three-problems", err)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BurnishError("no"), 1),
        (MissingExtra("no"), 3),
        (DataError("no"), 4),
        (CheckpointError("no"), 5),
        (LaunchError("no"), 6),
        (ServeError("no"), 7),
    ],
)
def test_each_refusal_has_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BurnishError, code: int
) -> None:
    raising(monkeypatch, error)
    assert run(["train", "x", "--quiet"]) == code
    assert capsys.readouterr().err == "error: no\n"


@pytest.mark.parametrize(
    ("name", "argv", "code"),
    [
        ("unknown-verb", ["trian"], 2),
        ("unknown-option", ["train", "x", "--jsn"], 2),
        ("missing-argument", ["train"], 2),
        ("unknown-nested-verb", ["runs", "shwo"], 2),
        ("unknown-choice", ["train", "x", "--then", "sleep"], 2),
        ("unknown-kind", ["list", "modles"], 2),
        ("no-override", ["config", "check", "mine.yaml", "train.batch"], 2),
        ("wrong-config", ["train", "mine.yaml", "train.batch_siz=3", "optimizer.learning_rate=fast"], 2),
        ("unknown-run", ["runs", "show", "sst2"], 5),
        ("resume-without-a-run", ["resume", "sst2"], 5),
        ("predict-without-text", ["predict", "r"], 2),
        ("predict-with-half-a-file", ["predict", "r", "--in", "x.csv"], 2),
        ("predict-with-two-sources", ["predict", "r", "--in", "x.csv", "--out", "y.csv", "--text", "z"], 2),
        ("predict-with-odd-pairs", ["predict", "r", "--text", "a", "--pair", "b", "--pair", "c"], 2),
        ("watch-with-a-file", ["evaluate", "r", "--watch", "--in", "x.csv"], 2),
    ],
)
def test_a_refused_command(
    golden: Golden,
    capsys: pytest.CaptureFixture[str],
    name: str,
    argv: list[str],
    code: int,
) -> None:
    Path("mine.yaml").write_text(MINE)
    assert run(argv) == code
    out, err = capsys.readouterr()
    assert out == ""
    golden(f"errors/{name}", err)


def test_a_bug_is_told_in_one_line_and_its_traceback_written_down(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    raising(monkeypatch, RuntimeError("two\nlines"))
    assert run(["train", "x", "--quiet"]) == 70
    [line] = capsys.readouterr().err.splitlines()
    [path] = tmp_path.glob("burnish-bug-*.txt")
    assert line == f"burnish met a bug: RuntimeError: two lines; the traceback is in {path}"
    assert "Traceback (most recent call last)" in path.read_text()


def test_the_traceback_of_a_bug_is_shown_on_request(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("BURNISH_DEBUG", "1")
    raising(monkeypatch, RuntimeError("why"))
    assert run(["train", "x", "--quiet"]) == 70
    assert capsys.readouterr().err.startswith("Traceback (most recent call last)")


def test_an_interrupted_command_leaves_with_130(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    raising(monkeypatch, KeyboardInterrupt())
    assert run(["train", "x", "--quiet"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_the_word_error_is_red_on_a_terminal_unless_colour_is_not_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    run(["trian"])
    assert capsys.readouterr().err.startswith("error: ")
    monkeypatch.delenv("NO_COLOR")
    run(["trian"])
    assert capsys.readouterr().err.startswith("\x1b[")
