from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from burnish.artifact.tables import prediction_columns, words
from burnish.data.rows import from_file
from burnish.errors import CheckpointError
from burnish.metrics.language import Answerability, AnswerF1, BestThreshold, ExactMatch
from burnish.run.predicting.prediction_tables import prediction_tables
from burnish.run.predicting.predictions import read_outcome
from burnish.run.record.directory import RunDirectory, write_json
from burnish.spec.values import Outcome

ROWS = np.arange(3)
SHARES = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])
LABELS = ("a", "b", "c")
MANY = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]])
VALUES = np.array([0.5, 1.5, -2.0])


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome("multiclass", ROWS, SHARES, np.array([0, 1, 2]), np.array([0, 2, 2]), LABELS),
        Outcome("multiclass", ROWS, SHARES, np.array([0, 1, 2]), None, LABELS),
        Outcome("multilabel", ROWS, SHARES, MANY, MANY[::-1], LABELS),
        Outcome("regression", ROWS, VALUES, VALUES, VALUES + 1),
    ],
    ids=["classes", "truth unknown", "several labels", "numbers"],
)
def test_what_was_written_as_words_is_read_as_numbers(tmp_path: Path, outcome: Outcome) -> None:
    run = RunDirectory(tmp_path)
    columns = {"row": outcome.rows, **prediction_columns(outcome)}
    if outcome.truth is not None:
        columns["truth"] = pa.array(words(outcome.truth, outcome))
    run.predictions.mkdir()
    pq.write_table(pa.table(columns), run.predictions / "test.parquet")
    write_json(run.profile, {"kind": outcome.kind, "labels": list(outcome.labels)})

    back = read_outcome(run, "test")

    assert (back.kind, back.labels) == (outcome.kind, outcome.labels)
    for name in ("rows", "outputs", "decisions", "truth"):
        np.testing.assert_array_equal(getattr(back, name), getattr(outcome, name))


NAMES_WITH_SEMICOLONS = ("a", "a;b", ";", "b")


def run_of(tmp_path: Path, columns: dict[str, object], labels: tuple[str, ...]) -> RunDirectory:
    run = RunDirectory(tmp_path)
    run.predictions.mkdir()
    pq.write_table(pa.table(columns), run.predictions / "test.parquet")
    write_json(run.profile, {"kind": "multilabel", "labels": list(labels)})
    return run


def test_labels_that_hold_a_semicolon_are_read_as_they_were_written(tmp_path: Path) -> None:
    chosen = np.array([[(number >> at) & 1 for at in range(4)] for number in range(16)])
    outcome = Outcome("multilabel", np.arange(16), chosen * 0.9, chosen, chosen[::-1], NAMES_WITH_SEMICOLONS)
    rows = from_file(pa.table({"text": ["x"] * 16}), name="a.csv", first_line=1)
    [table] = prediction_tables(outcome, rows, shown=["text"])
    back = read_outcome(run_of(tmp_path, {name: table[name] for name in table.column_names}, outcome.labels), "test")
    np.testing.assert_array_equal(back.decisions, chosen)
    np.testing.assert_array_equal(back.truth, chosen[::-1])


def test_an_older_run_whose_labels_could_be_read_in_two_ways_is_refused(tmp_path: Path) -> None:
    columns = {"row": [0], "predicted": ["a;b"], "probabilities": [[0.9, 0.1, 0.1, 0.9]]}
    with pytest.raises(CheckpointError, match="does not hold the predictions of this run"):
        read_outcome(run_of(tmp_path, columns, NAMES_WITH_SEMICOLONS), "test")


def test_answers_are_read_with_all_that_scores_them(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    columns = {"row": [0, 1], "predicted": ["Ann", ""], "confidence": [0.5, 0.75], "best_answer": ["Ann", "Bob"]}
    table = pa.table({**columns, "null_odds": [-1.0, 2.0], "true_answers": [["Ann", "she"], []]})
    run.predictions.mkdir()
    pq.write_table(table, run.predictions / "test.parquet")
    write_json(run.profile, {"kind": "spans", "labels": []})
    back = read_outcome(run, "test")
    assert back.decisions.tolist() == ["Ann", ""]
    assert back.truth is not None
    assert back.truth.tolist() == [("Ann", "she"), ()]
    metrics = (AnswerF1(), ExactMatch(), Answerability(), BestThreshold())
    assert [float(value[0]) for metric in metrics for value in metric.scores(back).values()] == [1.0] * 7


def test_probabilities_as_lists_are_in_the_order_of_the_labels(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    outcome = Outcome("multiclass", ROWS, SHARES, np.array([0, 1, 2]), None, LABELS)
    rows = from_file(pa.table({"text": list("xyz")}), name="a", first_line=1)
    table = pa.concat_tables(prediction_tables(outcome, rows, shown=("text",)))
    run.predictions.mkdir()
    pq.write_table(table, run.predictions / "test.parquet")
    write_json(run.profile, {"kind": "multiclass", "labels": list(LABELS)})
    np.testing.assert_array_equal(read_outcome(run, "test").outputs, SHARES)


def test_a_profile_of_another_shape_is_refused(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"row": [0], "predicted": ["a"], "probabilities": [[0.9, 0.1, 0.1]]}, LABELS)
    write_json(run.profile, {"kind": "multilabel", "labels": list(LABELS), "facts": "none"})
    with pytest.raises(CheckpointError, match="does not hold the predictions of this run"):
        read_outcome(run, "test")
