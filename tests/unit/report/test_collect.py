"""A run directory becomes a report, whatever is missing or torn."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from burnish.report.collect import collect
from burnish.report.data import CurvePoint, Fact, ReportData
from burnish.report.events import smooth, thin
from burnish.report.page import render
from burnish.run.record.directory import RunDirectory
from burnish.spec.values import Times

PLAN = """name: demo/reviews                # demo/reviews.yaml:1
task:
  type: text_classification       # demo/reviews.yaml:3
  truncation:
    type: head                    # default
    words: "a # b"                # t.yaml:4
metrics:
  - type: accuracy                # mine.yaml:2
  - type: f1                      # mine.yaml:3
data:
  files: [a.csv, b.csv]           # default
"""
STEP = {"epoch": 1.0, "gradient_norm": 1.0, "examples": 8, "tokens": 80, "fraction": 0.5, "time": 0.0, "attempt": 2}
EVENTS = [
    {"event": "started", "step": 0, "attempt": 1, "total_steps": 4, "facts": {"old": 1}, "time": 0.0},
    {
        "event": "started",
        "step": 0,
        "attempt": 2,
        "total_steps": 4,
        "facts": {"train_rows": 1200, "padding": 0.125, "ready": True, "machine": {"cores": 2}},
        "time": 0.0,
    },
    {**STEP, "event": "stepped", "step": 1, "loss": 0.9, "learning_rate": 0.1},
    {**STEP, "event": "stepped", "step": 2, "loss": "nan", "learning_rate": 0.1},
    {**STEP, "event": "stepped", "step": 2, "loss": 0.7, "learning_rate": 0.05},
    {**STEP, "event": "evaluated", "step": 1, "split": "validation", "scores": {"accuracy": 0.5}, "is_best": True},
    {**STEP, "event": "evaluated", "step": 2, "split": "validation", "scores": {"accuracy": 0.75}, "is_best": True},
    {**STEP, "event": "noted", "step": 2, "message": "a row was skipped"},
    {**STEP, "event": "ended", "step": 2, "reason": "early_stopping"},
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    score = {"accuracy": {"value": 0.75, "low": 0.5, "high": 1.0}, "f1": {"value": "nan", "low": None, "high": None}}
    (tmp_path / "plan.yaml").write_text(PLAN)
    (tmp_path / "events.jsonl").write_text("\n".join(map(json.dumps, EVENTS)) + '\n{"event": "stepp')
    sheet = {"headline": "accuracy", "scores": {"validation": score, "test": score}, "baselines": {"majority": score}}
    (tmp_path / "scores.json").write_text(json.dumps(sheet))
    (tmp_path / "profile.json").write_text(
        json.dumps({"kind": "binary", "labels": ["bad", "good"], "facts": {"label_counts": [500, 700]}})
    )
    (tmp_path / "exit.json").write_text(json.dumps({"reason": "early_stopping", "seconds": 75.2}))
    write_predictions(
        tmp_path / "predictions" / "test.parquet",
        truth=["bad", "good", "good", "bad"],
        predicted=["bad", "bad", "good", "good"],
        confidence=[0.9, 0.6, 0.8, 0.95],
    )
    return tmp_path


def write_predictions(path: Path, **columns) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    num_rows = len(columns["truth"])
    texts = [f"text {number}" for number in range(num_rows)]
    pq.write_table(pa.table({"row": np.arange(num_rows) + 10, "text": texts, **columns}), path)


def test_times_are_read_unless_they_are_none(run: Path) -> None:
    sheet = json.loads((run / "scores.json").read_text())
    took = {"this_run": {"fit_seconds": 2, "predict_seconds": "nan"}, "majority": {"fit_seconds": -1}, "mean": 3}
    (run / "scores.json").write_text(json.dumps({**sheet, "times": took}))
    assert collect(RunDirectory(run)).times == {"this_run": Times(2.0), "majority": Times()}


def test_everything_in_the_directory_is_told(run: Path) -> None:
    data = collect(RunDirectory(run))
    assert (data.title, data.experiment) == ("demo/reviews", "text classification")
    assert data.ending == "stopped early, no longer improving"
    assert data.headline is not None
    assert (data.headline.score, data.headline.split, data.headline.figure.value) == ("accuracy", "test", 0.75)
    assert list(data.splits) == ["validation", "test"]
    assert np.isnan(data.splits["test"]["f1"].value)
    assert data.facts == (
        Fact("Train rows", "1,200"),
        Fact("Padding", "12.5%"),
        Fact("Ready", "yes"),
        Fact("Attempts", "2"),
        Fact("Training", "0.0 s"),
        Fact("In all", "1 min 15 s"),
    )
    assert data.environment == (Fact("Cores", "2"),)
    assert [(each.step, each.message) for each in data.happenings] == [
        (2, "a row was skipped"),
        (2, "ended: early stopping"),
    ]


def test_a_step_that_was_done_again_counts_once_and_a_torn_line_not_at_all(run: Path) -> None:
    training = collect(RunDirectory(run)).training
    assert training is not None
    assert training.loss == (CurvePoint(1, 0.9), CurvePoint(2, 0.7))
    assert training.learning_rate[-1] == CurvePoint(2, 0.05)


def test_the_last_best_step_is_marked(run: Path) -> None:
    (curve,) = collect(RunDirectory(run)).evaluations
    assert (curve.score, curve.split, curve.best_step) == ("accuracy", "validation", 2)
    assert curve.points == (CurvePoint(1, 0.5), CurvePoint(2, 0.75))


def test_predictions_give_confusion_calibration_counts_and_the_surest_errors(run: Path) -> None:
    data = collect(RunDirectory(run))
    assert data.confusion is not None
    assert data.confusion.counts == ((1, 1), (1, 1))
    assert data.calibration is not None
    assert sum(point.count for point in data.calibration.points) == 4
    assert [(each.split, dict(each.counts)) for each in data.label_counts] == [
        ("train", {"bad": 500, "good": 700}),
        ("test", {"bad": 2, "good": 2}),
    ]
    assert [(each.row, each.truth, each.predicted, each.confidence) for each in data.mistakes] == [
        ("row 13", "bad", "good", 0.95),
        ("row 11", "good", "bad", 0.6),
    ]


def test_an_error_is_found_by_its_file_and_row_there(run: Path) -> None:
    write_predictions(
        run / "predictions" / "test.parquet",
        truth=["bad"],
        predicted=["good"],
        file=["more.csv"],
        file_row=[1204],
    )
    assert [each.row for each in collect(RunDirectory(run)).mistakes] == ["more.csv, row 1,204"]


def test_predictions_give_scores_by_class_and_curves(run: Path) -> None:
    write_predictions(
        run / "predictions" / "test.parquet",
        truth=["bad", "good", "good", "bad"],
        predicted=["bad", "bad", "good", "bad"],
        probabilities=[[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.7, 0.3]],
    )
    data = collect(RunDirectory(run))
    assert [(each.label, each.recall, each.support) for each in data.class_scores] == [
        ("bad", 1.0, 2),
        ("good", 0.5, 2),
    ]
    assert [(each.label, each.roc_auc) for each in data.curves] == [("good", 1.0)]


def test_the_training_time_is_that_of_all_attempts(run: Path) -> None:
    times = {1: [10.0, 14.0], 2: [30.0, 36.0]}
    lines = [
        json.dumps({**fields, "attempt": attempt, "time": time})
        for attempt, moments in times.items()
        for fields, time in zip((EVENTS[0], EVENTS[2]), moments, strict=True)
    ]
    (run / "events.jsonl").write_text("\n".join(lines) + "\n")
    assert Fact("Training", "10 s") in collect(RunDirectory(run)).facts


def test_every_setting_has_its_origin(run: Path) -> None:
    assert [(each.path, each.value, each.origin) for each in collect(RunDirectory(run)).settings] == [
        ("name", "demo/reviews", "demo/reviews.yaml:1"),
        ("task.type", "text_classification", "demo/reviews.yaml:3"),
        ("task.truncation.type", "head", "default"),
        ("task.truncation.words", "a # b", "t.yaml:4"),
        ("metrics.0.type", "accuracy", "mine.yaml:2"),
        ("metrics.1.type", "f1", "mine.yaml:3"),
        ("data.files", "[a.csv, b.csv]", "default"),
    ]


def test_the_worst_errors_of_numbers_are_the_furthest_off(run: Path) -> None:
    (run / "profile.json").write_text(json.dumps({"kind": "regression", "labels": [], "facts": {}}))
    write_predictions(run / "predictions" / "test.parquet", truth=[1.0, 2.0, 3.0], predicted=[1.0, 4.5, 2.0])
    data = collect(RunDirectory(run))
    assert [(each.row, each.truth, each.predicted) for each in data.mistakes] == [
        ("row 11", "2", "4.500"),
        ("row 12", "3", "2"),
    ]
    assert data.confusion is None
    assert data.calibration is None


def test_label_sets_are_counted_label_by_label(run: Path) -> None:
    (run / "profile.json").write_text(json.dumps({"kind": "multilabel", "labels": ["a", "b"], "facts": {}}))
    write_predictions(run / "predictions" / "test.parquet", truth=["a;b", "", "a"], predicted=["a", "", "a"])
    data = collect(RunDirectory(run))
    assert dict(data.label_counts[0].counts) == {"a": 2, "b": 1}
    assert [(each.truth, each.predicted) for each in data.mistakes] == [("a, b", "a")]


def test_of_many_labels_the_most_frequent_are_shown(run: Path) -> None:
    labels = [f"label{number:02}" for number in range(30)]
    truth = [label for number, label in enumerate(labels) for _ in range(number + 1)]
    (run / "profile.json").write_text(json.dumps({"kind": "multiclass", "labels": labels}))
    write_predictions(run / "predictions" / "test.parquet", truth=truth, predicted=truth)
    confusion = collect(RunDirectory(run)).confusion
    assert confusion is not None
    assert confusion.labels == tuple(labels[10:])
    assert confusion.num_labels == 30


@pytest.mark.parametrize(
    "name", ["plan.yaml", "events.jsonl", "scores.json", "profile.json", "exit.json", "predictions/test.parquet"]
)
@pytest.mark.parametrize("content", [None, b"", b"\xff\x00{", b"[1, 2]", b"null", b"a: &a [*a]"])
def test_a_file_that_is_missing_or_torn_leaves_the_rest(run: Path, name: str, content: bytes | None) -> None:
    if content is None:
        (run / name).unlink()
    else:
        (run / name).write_bytes(content)
    assert "<!doctype html>" in render(collect(RunDirectory(run)))


def test_a_test_split_without_labels_leaves_the_headline_to_validation(run: Path) -> None:
    sheet = {"headline": "f1", "scores": {"validation": {"f1": {"value": 0.5}}, "test": {}}, "baselines": {}}
    (run / "scores.json").write_text(json.dumps(sheet))
    headline = collect(RunDirectory(run)).headline
    assert headline is not None
    assert (headline.score, headline.split) == ("f1", "validation")


def test_a_plan_with_aliases_is_not_unfolded(run: Path) -> None:
    (run / "plan.yaml").write_text("a: &a [1, 2]\nb: [*a, *a]\n")
    assert collect(RunDirectory(run)).settings == ()


def test_an_empty_directory_gives_a_page_with_a_title(tmp_path: Path) -> None:
    assert collect(RunDirectory(tmp_path)) == ReportData(title=tmp_path.name)


def test_long_curves_are_thinned_to_means_and_smoothed_without_bias() -> None:
    points = [CurvePoint(step, 2.0) for step in range(1, 1001)]
    assert len(thin(points, most=100)) == 100
    assert thin(points, most=100)[-1] == CurvePoint(1000, 2.0)
    assert all(point.value == pytest.approx(2.0) for point in smooth(points))
    assert thin([]) == ()


def test_each_of_several_tasks_has_a_part_of_its_own(run: Path) -> None:
    (run / "predictions" / "test.parquet").unlink()
    own = {"mood": {"kind": "binary", "labels": ["bad", "good"], "facts": {}}, "../x": {"kind": "binary"}, "odd": 3}
    (run / "profile.json").write_text(json.dumps({"kind": "several", "labels": [], "facts": {"tasks": own}}))
    said = {"truth": ["bad", "good"], "predicted": ["good", "good"], "confidence": [0.9, 0.8]}
    write_predictions(run / "predictions" / "mood" / "test.parquet", **said)
    data = collect(RunDirectory(run))
    assert data.confusion is None
    assert [(each.title, each.confusion.counts, each.mistakes[0].truth) for each in data.tasks] == [  # type: ignore[union-attr]
        ("mood", ((0, 1), (0, 1)), "bad")
    ]
    assert "mood: Worst errors on test" in render(data)


def test_events_of_any_shape_leave_a_page(tmp_path: Path) -> None:
    odd = [
        {"event": "stepped", "step": 1, "loss": 10**400, "time": 10**400, "attempt": [1]},
        {"event": "stepped", "step": 10**400, "loss": 0.5, "time": 2.0, "attempt": {}},
        {"event": "started", "attempt": [], "time": "now", "facts": []},
        {"event": "evaluated", "step": "x", "scores": {"f1": 10**400}, "split": [], "is_best": 1},
        {"event": "evaluated", "step": 10**30, "scores": {"f1": 0.5}, "split": "validation", "is_best": 1},
        {"event": "noted", "step": 10**400, "message": None},
    ]
    lines = [*map(json.dumps, odd), "[" * 100_000, '{"event": "stepped", "step": ' + "9" * 5001 + "}"]
    (tmp_path / "events.jsonl").write_text("\n".join(lines) + "\n")
    profile = {"kind": "binary", "labels": ["a"], "facts": {"label_counts": {"a": "nan", "b": 10**400, "c": 3}}}
    (tmp_path / "profile.json").write_text(json.dumps(profile))
    assert "</html>" in render(collect(RunDirectory(tmp_path)))
