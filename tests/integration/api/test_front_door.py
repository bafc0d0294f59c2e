"""A data scientist's walk: rows in, a run, a model, predictions like the rows; and a run from memory that is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import burnish
from burnish.commands.crash.sameness import find_differences
from burnish.errors import DataError
from burnish.run.record.directory import RunDirectory

pytestmark = pytest.mark.usefixtures("quick_workers")

SECONDS = 120


def houses(rows: int = 240) -> pd.DataFrame:
    """Make a frame with what real ones have: gaps, dates, categories, a number for a name, an index of words."""
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "area": draw.normal(100, 20, rows),
            "city": draw.choice(["a", "b", "c"], rows),
            "sold": pd.date_range("2020", periods=rows),
            "state": pd.Categorical(draw.choice(["good", "poor"], rows)),
            0: draw.integers(0, 9, rows),
        },
        index=[f"house {number}" for number in range(rows)],
    )
    frame["is_dear"] = np.where(frame.area + 30 * (frame.city == "a") > 110, "yes", "no")
    frame.loc[frame.index[::7], "area"] = np.nan
    return frame


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> burnish.Run:
    options = {"model": "linear", "train.length": "4 epochs"}
    return burnish.train(houses(), options, target="is_dear", dir=tmp_path_factory.mktemp("runs") / "a", progress=False)


@pytest.fixture(scope="module")
def model(run: burnish.Run) -> burnish.Model:
    return run.load()


def test_a_run_of_rows_has_scores_with_intervals(run: burnish.Run) -> None:
    score = run.scores["test"]["accuracy"]
    assert score.low is not None
    assert score.low <= score.value <= 1
    assert "majority" in run.baselines
    assert run.report is not None
    assert f"{run.scores['test'][run.headline].value:.4f}" in repr(run)
    assert "<table>" in run._repr_html_()


def test_the_same_rows_are_the_same_experiment(run: burnish.Run) -> None:
    options = {"model": "linear", "train.length": "4 epochs"}
    began = time.monotonic()
    again = burnish.train(houses(), options, target="is_dear", dir=run.directory, progress=False)
    assert again == run
    assert time.monotonic() - began < 5, "it was trained again"
    assert burnish.resume(run, progress=False) == run


def test_a_model_knows_its_classes_and_columns(model: burnish.Model) -> None:
    assert model.classes == ("no", "yes")
    assert set(model.columns) == {"area", "city", "sold", "state", "0"}
    assert "no, yes" in repr(model)
    assert "<table>" in model._repr_html_()


def test_rows_in_give_the_like_out(model: burnish.Model) -> None:
    frame = houses().head(5)
    named = frame.rename(columns=str)
    found = model.predict(frame)
    assert found.index.equals(frame.index)
    assert [*found.columns] == ["predicted", "confidence", "probability_no", "probability_yes"]
    of_polars, of_arrow = model.predict(pl.from_pandas(named)), model.predict(pa.Table.from_pandas(named))
    assert isinstance(of_polars, pl.DataFrame)
    assert of_polars.columns == [*found.columns]
    assert isinstance(of_arrow, pa.Table)
    assert of_polars["predicted"].to_list() == of_arrow["predicted"].to_pylist() == found["predicted"].to_list()
    rows = named.drop(columns="is_dear").astype({"sold": str}).replace({np.nan: None}).to_dict("records")
    of_list = model.predict(rows)
    assert [each.label for each in of_list] == found["predicted"].to_list()
    assert np.allclose([each.confidence for each in of_list], found["confidence"])


def test_probabilities_come_in_the_order_of_the_classes(model: burnish.Model) -> None:
    frame = houses().head(5)
    found = model.predict_proba(frame)
    assert [*found.columns] == ["no", "yes"]
    assert np.allclose(found.sum(axis="columns"), 1)
    assert found.index.equals(frame.index)
    rows = houses().head(1).rename(columns=str).astype({"sold": str}).to_dict("records")
    of_list = model.predict_proba(rows)
    assert of_list.shape == (1, 2)


def test_a_frame_may_be_scored(run: burnish.Run) -> None:
    found = burnish.evaluate(run, houses().head(60), progress=False)
    assert found.split is None
    assert 0 < found.scores["accuracy"].value <= 1
    assert burnish.evaluate(run, progress=False).scores == run.scores["test"]


def test_runs_are_compared(run: burnish.Run, tmp_path: Path) -> None:
    options = {"model": "linear", "train.length": "1 epochs"}
    other = burnish.train({"train": houses()}, options, target="is_dear", dir=tmp_path / "b", progress=False)
    found = burnish.compare(run, other)
    assert [each.key for each in found.differences] == ["train.length"]
    assert "train.length" in repr(found)
    assert "<table>" in found._repr_html_()


def test_a_run_may_be_planned(run: burnish.Run) -> None:
    found = burnish.plan(houses(), {"model": "linear", "train.length": "4 epochs"}, target="is_dear", progress=False)
    assert found.steps == run.step
    assert "memory" in repr(found)
    assert "<pre>" in found._repr_html_()


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("a text", "got one str; put it into a list"),
        (np.zeros((2, 3)), r"got a ndarray of shape \(2, 3\)"),
        (["a text"], "none of the model's columns is given"),
        (houses().head(0), "the DataFrame holds no rows"),
        (houses().drop(columns=["city"]).assign(citty="a"), r"city: in all .* rows\. Was it given as `citty`\?"),
    ],
)
def test_rows_that_cannot_be_predicted_are_refused(model: burnish.Model, rows: object, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        model.predict(rows)


def test_no_rows_have_no_predictions(model: burnish.Model) -> None:
    assert model.predict([]) == []


SCRIPT = """
import sys, burnish, pandas as pd
from tests.integration.api.test_front_door import houses

overrides = {"model": "linear", "train.length": "40 epochs", "train.checkpoint_every": "20 steps"}
burnish.train(houses(), overrides, target="is_dear", validation=houses(60), dir=sys.argv[1], progress=False)
"""


def test_a_run_of_rows_that_is_killed_resumes_from_the_shell_to_the_same_bits(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), os.getcwd()])}
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    start = [sys.executable, "-c", SCRIPT]
    subprocess.run([*start, str(whole)], check=True, timeout=SECONDS, env=environment)
    process = subprocess.Popen([*start, str(killed)], env=environment, stderr=subprocess.PIPE, text=True)
    wait_for_checkpoint(killed)
    worker = RunDirectory(killed).read_lock()
    assert worker is not None
    os.kill(worker.pid, signal.SIGKILL)
    assert "LaunchError" in process.communicate(timeout=SECONDS)[1]
    resume = [sys.executable, "-m", "burnish", "resume", str(killed), "--quiet"]
    subprocess.run(resume, check=True, timeout=SECONDS, capture_output=True)
    assert find_differences(RunDirectory(killed), RunDirectory(whole)) == []
    assert (killed / "artifact" / "model").is_dir()


def wait_for_checkpoint(run: Path) -> None:
    deadline = time.monotonic() + SECONDS
    while not [*run.glob("checkpoints/step-*/MANIFEST.json")]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
