"""A table from CSV to predictions, through the same run as every other task."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from burnish.artifact.predictor import Predictor
from burnish.commands.evaluate import evaluate
from burnish.commands.predict import predict_file
from burnish.commands.train import train
from burnish.errors import DataError

pytestmark = pytest.mark.usefixtures("quick_workers")

HEADER = "miles,pay,night,begin,fare,tip"


def write_trips(path: Path, num_rows: int = 400) -> None:
    random = np.random.default_rng(0)
    lines = [HEADER]
    for at in range(num_rows):
        miles, pay = round(float(random.gamma(2, 2)), 2), ("Cash", "Card", "", "Dispute")[at % 4]
        tip = int(pay == "Card" and miles > 2)
        shown = "" if at % 13 == 0 else miles
        night, begin = ("yes", "no")[at % 2], f"2024-03-{1 + at % 28:02d} {at % 24:02d}:00"
        lines.append(f"{shown},{pay},{night},{begin},{3 + 2 * miles:.2f},{tip}")
    path.write_text("\n".join(lines) + "\n")


def write_experiment(folder: Path, task: str) -> str:
    write_trips(folder / "trips.csv")
    config = folder / "trips.yaml"
    config.write_text(
        f"name: trips\ntask: {{type: tabular, {task}}}\n"
        f"data: {{train: {folder / 'trips.csv'}, split: {{validation: 20%, test: 20%}}}}\n"
        "model: {type: 'tests.tiny_table_torch:TinyTable'}\n"
        "optimizer: {learning_rate: 1e-2}\nruntime: {threads: 1}\n"
        "train: {length: 20 epochs, batch: 32, evaluate_every: 10 epochs, checkpoint_every: 10 epochs}\n"
    )
    return str(config)


@pytest.fixture(scope="module")
def tips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tips")
    task = (
        "target: tip, columns: {fare: drop, miles: {boundaries: [2, 5]}}, derived: {far: miles > 3}, "
        "crosses: [[pay, miles]], calibration: platt, threshold: f1, slices: [pay, miles]"
    )
    train(write_experiment(folder, task), directory=folder / "run")
    return folder


def test_it_learns_and_leaves_all_its_files(tips: Path) -> None:
    scores = json.loads((tips / "run" / "scores.json").read_text())
    assert scores["scores"]["test"]["roc_auc"]["value"] > 0.9
    assert (scores["headline"], scores["is_lower_better"]) == ("roc_auc", False)  # though log_loss selects
    assert set(scores["baselines"]) >= {"majority", "logistic"}
    assert set(scores["times"]) == {"this_run", *scores["baselines"]}
    assert all(each["fit_seconds"] > 0 and each["predict_seconds"] >= 0 for each in scores["times"].values())
    profile = json.loads((tips / "run" / "profile.json").read_text())
    assert set(profile["facts"]["fitted"]) == {"calibration", "threshold"}
    assert profile == json.loads((tips / "run" / "artifact" / "profile.json").read_text())
    insights = json.loads((tips / "run" / "insights.json").read_text())
    importance = insights["importance"]
    assert max(importance, key=lambda name: importance[name]["mean"]) == "pay"
    assert all(each["low"] <= each["mean"] <= each["high"] for each in importance.values())
    assert {each["value"] for each in insights["slices"] if each["column"] == "pay"} >= {"Cash", "Card", "missing"}
    page = (tips / "run" / "report.html").read_text()
    assert all(words in page for words in ("Permutation importance", "Slices", "<h2>Columns</h2>", "Time to fit"))


def test_rows_given_one_by_one_get_the_answers_of_training_bit_for_bit(tips: Path) -> None:
    predictor = Predictor.load(tips / "run" / "artifact")
    saved = pq.read_table(tips / "run" / "predictions" / "test.parquet")
    lines = (tips / "trips.csv").read_text().splitlines()[1:]
    names = HEADER.split(",")
    rows = [dict(zip(names, line.split(","), strict=True)) for line in lines]
    file = tips / "answers.parquet"
    predict_file(str(tips / "run"), source=str(tips / "trips.csv"), out=file)
    from_file = [each["1"] for each in pq.read_table(file)["probabilities"].to_pylist()]
    typed = [{**row, "miles": float(row["miles"] or "nan"), "night": row["night"] == "yes"} for row in rows]
    assert [each.probabilities["1"] for each in predictor.predict(typed)] == from_file
    importance = json.loads((tips / "run" / "insights.json").read_text())["importance"]
    order = sorted(importance, key=lambda name: -importance[name]["mean"])
    by_text = {", ".join(f"{name}={row[name]}" for name in order): row for row in rows}
    again = predictor.predict([by_text[text] for text in saved["text"].to_pylist()])
    assert [list(each.probabilities.values()) for each in again] == saved["probabilities"].to_pylist()


def test_a_row_that_lacks_a_column_takes_its_default_and_a_wrong_one_is_named(tips: Path) -> None:
    predictor = Predictor.load(tips / "run" / "artifact")
    full, short = predictor.predict([{"miles": None, "pay": "Card", "night": None, "begin": None}, {"pay": "Card"}])
    assert full == short
    (tips / "short.csv").write_text("pay\nCard\n")
    predict_file(str(tips / "run"), source=str(tips / "short.csv"), out=tips / "short.parquet", allow_missing=True)
    said = pq.read_table(tips / "short.parquet")["probabilities"].to_pylist()
    assert said == [pytest.approx(dict(short.probabilities))]  # this network rounds one row otherwise than two
    with pytest.raises(DataError, match="row 2, column miles: 'far' is no number"):
        predictor.predict([{"miles": 1}, {"miles": "far"}])


def test_it_is_scored_again_on_a_file(tips: Path) -> None:
    scores = evaluate(str(tips / "run"), data=str(tips / "trips.csv"))
    assert scores.scores["roc_auc"].value > 0.9


def test_numbers_are_scored_in_their_own_unit(tmp_path: Path) -> None:
    config = write_experiment(tmp_path, "target: fare, columns: {tip: drop}, transform: log1p, importance: 0")
    train(config, directory=tmp_path / "run")
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())
    assert (scores["headline"], scores["is_lower_better"]) == ("rmse", True)
    assert scores["scores"]["test"]["rmse"]["value"] < scores["baselines"]["mean"]["rmse"]["value"] / 2
    truths = pq.read_table(tmp_path / "run" / "predictions" / "test.parquet")["truth"].to_pylist()
    assert all(truth == round(truth, 2) for truth in truths)
    assert "Residuals on test" in (tmp_path / "run" / "report.html").read_text()
