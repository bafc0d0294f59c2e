"""A search that the service does by itself: which score it looks at, which way, and what it is told of the space."""

import json
from pathlib import Path
from typing import Any

import pytest

from burnish.cli.main import run
from tests.harness.server import TABLE, write_rides


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_rides(Path("rides.csv"), 40)
    Path("rides.yaml").write_text(TABLE)


def study(capsys: pytest.CaptureFixture[str], tune: str, *words: str) -> dict[str, Any]:
    Path("space.yaml").write_text(f"tune: {{{tune}}}\n")
    options = ["--on", "vertex", "--dry-run", "-l", "study=space.yaml"]
    code = run(["train", "rides.yaml", *words, *options])
    said = capsys.readouterr()
    assert code == 0, said.err
    body: dict[str, Any] = json.loads(said.out)["request"]["body"]["studySpec"]
    return body


NUMBER = "task={type: tabular, target: fare, kind: regression}"
SPACE = "space: {train.batch: [16, 32]}"


@pytest.mark.parametrize(
    ("tune", "words", "metric", "goal"),
    [
        ("metric: validation/log_loss, ", (), "log_loss", "MINIMIZE"),
        ("metric: loss, ", (), "log_loss", "MINIMIZE"),
        ("metric: accuracy, ", (), "accuracy", "MAXIMIZE"),
        ("", ("train.select.score=roc_auc",), "roc_auc", "MAXIMIZE"),
        ("", ("train.select=loss",), "log_loss", "MINIMIZE"),
        ("", ("metrics=[calibration_error, accuracy]",), "calibration_error", "MINIMIZE"),
        ("metric: validation/calibration_error, ", ("metrics=[calibration_error]",), "calibration_error", "MINIMIZE"),
        ("", (NUMBER, "metrics=[poisson_deviance]"), "poisson_deviance", "MINIMIZE"),
        ("metric: loss, ", (NUMBER, "metrics=[rmse]"), "rmse", "MINIMIZE"),
    ],
)
def test_the_service_looks_at_the_score_of_the_run_the_way_that_is_better(
    tune: str, words: tuple[str, ...], metric: str, goal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study(capsys, tune + SPACE, *words)["metrics"] == [{"metricId": metric, "goal": goal}]


@pytest.mark.parametrize(
    ("space", "values"),
    [
        ("train.batch: {type: int, min: 8, max: 32, step: 8}", [8, 16, 24, 32]),
        ("optimizer.learning_rate: {type: double, min: 0.1, max: 0.5, count: 3}", [0.1, 0.3, 0.5]),
        ("optimizer.learning_rate: {type: log, min: 0.001, max: 0.1, count: 3}", [0.001, 0.01, 0.1]),
    ],
)
def test_steps_and_counts_become_the_values_that_they_mean(
    space: str, values: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = study(capsys, f"space: {{{space}}}")["parameters"]
    assert found["discreteValueSpec"]["values"] == values


def test_a_component_is_told_as_a_config_would_write_it(capsys: pytest.CaptureFixture[str]) -> None:
    space = "model: [linear, {type: deep, layers: 2}]"
    (found,) = study(capsys, f"space: {{{space}}}")["parameters"]
    assert found["categoricalValueSpec"]["values"] == ["linear", '{"type": "deep", "layers": 2}']


def test_the_default_space_is_searched_where_none_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert study(capsys, "trials: 3", "model=deep")["parameters"]


@pytest.mark.parametrize(
    ("tune", "said"),
    [
        (
            "space: {model: [linear, {type: deep, dropout: {type: double, min: 0, max: 0.5}}]}",
            "a range or a choice inside",
        ),
        ("space: {train.batch: {type: int, min: 1, max: 5000, step: 1}}", "has more than 1,000 values"),
        (f"minutes: 30, {SPACE}", "tune.minutes: the service has no such option"),
    ],
)
def test_what_the_service_cannot_search_is_refused(tune: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("space.yaml").write_text(f"tune: {{{tune}}}\n")
    assert run(["train", "rides.yaml", "--on", "vertex", "--dry-run", "-l", "study=space.yaml"]) == 2
    assert said in capsys.readouterr().err.replace("\n", " ")
