"""The file of Google's tuning service, held against the service's own client."""

import json
from pathlib import Path

import pytest

from burnish.spec.events import Evaluated, Stepped
from burnish.tracking.hypertune import METRIC_FILE, TRIAL, TrialReport, report_trial

hypertune = pytest.importorskip("hypertune")


def evaluated(step: int, split: str = "validation", **scores: float) -> Evaluated:
    return Evaluated(step, split, scores, is_best=False)


def stepped(step: int, loss: float) -> Stepped:
    return Stepped(step, 0.0, loss, 1e-3, 1.0, examples=8, tokens=64, fraction=0.0)


def test_the_bytes_are_those_of_the_services_own_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = tmp_path / "a" / "ours", tmp_path / "b" / "theirs"
    monkeypatch.setattr("time.time", lambda: 1790000000.25)
    monkeypatch.setenv(TRIAL, "7")
    monkeypatch.setenv(METRIC_FILE, str(theirs))
    client = hypertune.HyperTune()
    report = TrialReport(ours, trial="7", now=lambda: 1790000000.25)
    for step in range(0, 130):  # more than the client keeps
        client.report_hyperparameter_tuning_metric("accuracy", step / 130, global_step=step)
        report.emit(evaluated(step, accuracy=step / 130))
    assert len(ours.read_bytes().splitlines()) == 100
    assert ours.read_bytes() == theirs.read_bytes()


def test_every_score_has_its_own_tag_and_the_losses_theirs(tmp_path: Path) -> None:
    report = TrialReport(tmp_path / "metrics", trial="1")
    for event in (stepped(1, 0.9), stepped(2, 0.7), evaluated(2, accuracy=0.5, log_loss=0.25)):
        report.emit(event)
    lines = [json.loads(line) for line in (tmp_path / "metrics").read_text().splitlines()]
    tags = {tag: value for line in lines for tag, value in line.items() if tag not in COMMON}
    assert tags == {"accuracy": "0.5", "log_loss": "0.25", "loss": "0.25", "train_loss": "0.8"}
    assert {line["global_step"] for line in lines} == {"2"}


def test_the_loss_of_a_task_without_a_log_loss_is_the_score_that_tells_it(tmp_path: Path) -> None:
    report = report_trial({METRIC_FILE: str(tmp_path / "metrics")}, losses=("mse", "rmse"))
    report.emit(evaluated(1, r2=0.5, rmse=2.0, mse=4.0))
    lines = [json.loads(line) for line in (tmp_path / "metrics").read_text().splitlines()]
    assert [line["loss"] for line in lines if "loss" in line] == ["4.0"]


COMMON = ("timestamp", "trial", "global_step", "checkpoint_path")


def test_other_splits_and_scores_that_are_no_numbers_are_not_reported(tmp_path: Path) -> None:
    report = TrialReport(tmp_path / "metrics", trial="1")
    report.emit(evaluated(1, split="test", accuracy=0.5))
    assert not (tmp_path / "metrics").exists()
    report.emit(evaluated(1, accuracy=float("nan"), f1=0.5))
    assert [list(json.loads(line)) for line in (tmp_path / "metrics").read_text().splitlines()] == [
        ["checkpoint_path", "f1", "global_step", "timestamp", "trial"]
    ]


@pytest.mark.parametrize(("said", "trial"), [({}, "0"), ({TRIAL: "3"}, "3")])
def test_a_report_is_where_and_of_the_trial_that_the_environment_says(
    tmp_path: Path, said: dict[str, str], trial: str
) -> None:
    report = report_trial({METRIC_FILE: str(tmp_path / "metrics"), **said})
    report.emit(evaluated(3, accuracy=1.0))
    assert json.loads((tmp_path / "metrics").read_text())["trial"] == trial
