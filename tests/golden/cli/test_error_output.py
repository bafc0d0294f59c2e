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
        ("predict-with-half-a-file", ["predict", "r", "--out", "x.csv"], 2),
        ("predict-text-as-file", ["predict", "r", "A fine film"], 2),
        ("predict-two-files", ["predict", "r", "x.csv", "--in", "y.csv"], 2),
        ("predict-with-two-sources", ["predict", "r", "--in", "x.csv", "--out", "y.csv", "--text", "z"], 2),
        ("predict-with-odd-pairs", ["predict", "r", "--text", "a", "--pair", "b", "--pair", "c"], 2),
        ("foreign-flags", ["train", "mine.yaml", "--learning-rate", "1e-4", "--epochs", "2", "--output_dir", "out"], 2),
        ("foreign-flag-alone", ["train", "mine.yaml", "--learning-rate", "1e-4"], 2),
        ("foreign-flag-without-a-value", ["train", "mine.yaml", "--fp16"], 2),
        ("foreign-flag-before-the-rest", ["train", "--fp16", "mine.yaml"], 2),
        ("foreign-flag-with-one-dash", ["train", "mine.yaml", "-lr", "1e-4"], 2),
        ("foreign-flag-of-accumulation", ["train", "mine.yaml", "--gradient_accumulation_steps", "4"], 2),
        ("foreign-flag-resume", ["train", "mine.yaml", "--resume"], 2),
        ("foreign-flag-overwrite", ["train", "mine.yaml", "--overwrite"], 2),
        ("foreign-flag-force", ["train", "mine.yaml", "--force"], 2),
        ("foreign-flag-overwrite-of-new", ["new", "tickets.csv", "--overwrite"], 2),
        ("foreign-flag-epochs", ["train", "mine.yaml", "--epochs", "2"], 2),
        ("foreign-flag-data", ["train", "mine.yaml", "--data_dir", "glue"], 2),
        ("foreign-flag-bucket", ["train", "mine.yaml", "--bucket", "gs://b"], 2),
        ("foreign-flag-of-new", ["new", "tickets.csv", "--target_column", "price"], 2),
        ("foreign-flag-of-predict", ["predict", "r", "--batch-size", "8", "--output_file", "p.csv"], 2),
        ("own-option-as-flag", ["train", "mine.yaml", "--task.max_length", "64", "--label-smoothing=0.1"], 2),
        ("flag-like-no-other", ["train", "mine.yaml", "--xyzzy"], 2),
        ("model-garden-flags", ["train", "--experiment=bert/squad", "--mode=train_and_eval", "--model_dir=out",
                                "--config_file=a.yaml", "--params_override=x", "--tpu=local", "--job-dir", "j"], 2),
        ("foreign-keys", ["config", "check", "mine.yaml", "fp16=true", "save_steps=50", "report_to=wandb",
                          "output_dir=out", "runtime.device=gpu", "metrics=auc", "train.length=5"], 2),
        ("option-of-another-section", ["config", "check", "mine.yaml", "checkpoint_every=50", "patience=3"], 2),
        ("foreign-key-in-a-section", ["config", "check", "mine.yaml", "train.fp16=true"], 2),
        ("table-model-for-texts", ["config", "check", "mine.yaml", "model=tab_m"], 2),
        ("text-model-for-tables", ["config", "check", "mine.yaml", "task={type: tabular, target: price}",
                                   "model={type: transformer, name: bert-base-uncased}"], 2),
        ("foreign-score", ["config", "check", "mine.yaml", "metrics=f1_macro"], 2),
        ("foreign-sections", ["config", "check", "mine.yaml", "task.train_data.input_path=t.csv",
                              "task.validation_data.input_path=v.csv", "trainer.train_steps=100",
                              "runtime.distribution_strategy=mirrored", "task.init_checkpoint=bert",
                              "task.hub_module_url=https://h/b"], 2),
        ("foreign-spans", ["config", "check", "mine.yaml", "task_name=sst2", "train_file=t.csv", "job_dir=j",
                           "seq_len_func=ht", "seq_func_params=16", "pad_to_max_length=true",
                           "searcher={name: single}", "gradient_accumulation_steps=4"], 2),
        ("joined-overrides", ["config", "check", "mine.yaml", "train.batch=16,optimizer.learning_rate=1e-4"], 2),
        ("file-as-override", ["config", "check", "mine.yaml", "trec2.yaml"], 2),
        ("data-as-override", ["config", "check", "mine.yaml", "tickets.csv"], 2),
        ("data-as-experiment", ["train", "tickets.csv"], 2),
        ("no-file-as-experiment", ["train", "nowhere.csv"], 2),
        ("experiment-as-data", ["new", "mine.yaml"], 2),
        ("watch-with-a-file", ["evaluate", "r", "--watch", "--in", "x.csv"], 2),
    ],
)  # fmt: skip
def test_a_refused_command(
    golden: Golden,
    capsys: pytest.CaptureFixture[str],
    name: str,
    argv: list[str],
    code: int,
) -> None:
    Path("mine.yaml").write_text(MINE)
    Path("tickets.csv").write_text("text,price\na,1\n")
    Path("train.csv").write_text("text,label,price\na,b,1\n")
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
    assert line == f"this is a bug in burnish: RuntimeError: two lines; the traceback is in {path}"
    assert "Traceback (most recent call last)" in path.read_text()


def test_what_is_written_of_a_bug_holds_no_value_of_a_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["burnish", "train", "x", "-l", "env.A=s3cret", "-lenv.B=s3cret", "--quiet"])
    raising(monkeypatch, RuntimeError("why"))
    assert run(["train", "x", "--quiet"]) == 70
    [path] = tmp_path.glob("burnish-bug-*.txt")
    assert "arguments: ['train', 'x', '-l', 'env.A=***', '-lenv.B=***', '--quiet']" in path.read_text()


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


SPACE = """\
tune:
  tirals: 3
  metric: validation/acuracy
  searcher: grid
  space:
    optimizer.learnin_rate: {type: log, min: 1e-5, max: 1e-3, count: 2}
    optimizer.weight_decay: {type: log, min: 0, max: 1e-1}
    train.clip: {type: double, min: 2, max: 1}
    train.batch: [16, sixteen]
    train.patience: {type: lgo, min: 1, max: 4}
    task.truncation: []
    task.max_length: {type: int, min: 16, max: 512.5, stp: 2}
    task.label_smoothing: {type: double, min: -0.1, max: 0.1, count: 2}
"""


def test_all_problems_of_a_space_are_told_at_once(
    golden: Golden, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("burnish.run.check.absent_inputs", lambda resolved: [])
    Path("train.csv").write_text("text,label\ngood,1\nbad,0\n")
    Path("mine.yaml").write_text(MINE)
    Path("space.yaml").write_text(SPACE)
    assert run(["tune", "mine.yaml", "-c", "space.yaml"]) == 2
    golden("errors/bad_space", capsys.readouterr().err)


def test_a_section_for_tuning_disturbs_no_other_verb(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("burnish.run.check.absent_inputs", lambda resolved: [])
    Path("mine.yaml").write_text(MINE + SPACE)
    assert run(["config", "check", "mine.yaml"]) == 0
    assert run(["config", "show", "mine.yaml"]) == 0
    assert "tune" not in capsys.readouterr().out
