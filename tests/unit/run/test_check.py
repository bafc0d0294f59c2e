"""What does not fit together is found before any data is touched."""

from pathlib import Path

import pytest

from burnish.commands.config import check
from burnish.errors import ConfigError


def refusal(model: Path, *overrides: str) -> str:
    config = model.parent / "mine.yaml"
    config.write_text(f"task: {{type: text_classification, max_length: 32}}\ndata: x.csv\nmodel: {model}\n")
    with pytest.raises(ConfigError) as refused:
        check(str(config), overrides=overrides)
    return str(refused.value)


def test_a_text_longer_than_the_model_reads(model: Path) -> None:
    text = refusal(model, "task.max_length=65")
    assert "task.max_length must be at most 64, the positions of the model, got 65" in text
    assert "set by task.max_length=65 on the command line" in text


def test_a_metric_that_does_not_score_the_kind(model: Path) -> None:
    text = refusal(model, "task.kind=binary", "metrics=[accuracy, pearson]")
    assert "metrics: pearson does not score binary labels; these do: accuracy, f1" in text


def test_a_selection_by_a_score_that_nothing_gives(model: Path) -> None:
    text = refusal(model, "metrics=[accuracy]", "train.select=f1")
    assert "train.select.score must be one of accuracy, got 'f1'" in text


def test_a_metric_is_called_what_the_config_calls_it(model: Path) -> None:
    text = refusal(model, "task.kind=regression", "metrics=[confusion, mse]")
    assert "metrics: confusion does not score regression labels; these do: r2, rmse" in text


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        (["metrics=[]"], "metrics must name at least one"),
        (["metrics=[f1, accuracy, f1]"], "metrics: f1 gives the score `f1`, which is given above already"),
        (
            ["metrics=[confusion]"],
            "metrics: confusion counts rows, which cannot choose a best checkpoint; add a metric that",
        ),
        (["metrics=[confusion]", "train.select=false_positives"], "train.select.direction must be max or min"),
        (["task.labels=[a, b]", "metrics=[{type: f1, positive: c}]"], "f1.positive is 'c', which is not one of task"),
    ],
)
def test_metrics_that_select_nothing_or_repeat(model: Path, overrides: list[str], sentence: str) -> None:
    assert sentence in refusal(model, *overrides)


def test_a_count_beside_a_score_or_with_a_direction_is_fine(model: Path) -> None:
    config = model.parent / "mine.yaml"
    config.write_text(f"task: {{type: text_classification, max_length: 32}}\ndata: x.csv\nmodel: {model}\n")
    check(str(config), overrides=["metrics=[confusion, accuracy]"])
    check(str(config), overrides=["metrics=[confusion]", "train.select={score: false_positives, direction: min}"])


def test_all_of_them_at_once(model: Path) -> None:
    text = refusal(model, "task.max_length=65", "task.kind=regression", "metrics=[accuracy]", "train.select=mse")
    assert text.startswith("the experiment has 3 problems")


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("model=https://host/bert", "over https only single files are read"),
        ("model=${MODEL}", "variables are not expanded here"),
        ("data.train=x.hdf5", "data.train: x.hdf5 has the suffix .hdf5, which is not a known format"),
        ("data.test=[y.csv, x.pkl.gz]", "data.test: x.pkl.gz has the suffix .pkl"),
        ("data.also.more=gs://box/x.xlsx", "data.also.more: gs://box/x.xlsx is a spreadsheet; save the sheet as CSV"),
        (
            "data.train=${HOME}/x.csv",
            "data.train: ${HOME}/x.csv contains a variable, and variables are not expanded here; write the path itself",
        ),
        ("data={type: prepared, dir: gs://box/it}", "data.dir: gs://box/it must be a folder on this machine"),
    ],
)
def test_what_could_never_be_read(model: Path, override: str, sentence: str) -> None:
    assert sentence in refusal(model, override)


def test_what_may_be_read_elsewhere_is_fine(model: Path, tmp_path: Path) -> None:
    (tmp_path / "classes.v1").mkdir()
    config = model.parent / "mine.yaml"
    files = [str(tmp_path / "classes.v1"), "package:rows/shelf.v2", "gs://box/a.csv.gz", "no_suffix"]
    config.write_text(
        f"task: {{type: text_classification, max_length: 32}}\ndata: {{train: {files}}}\nmodel: {model}\n"
    )
    check(str(config))
    check(str(config), overrides=["data.train=odd.suffix", "data.format=csv"])
