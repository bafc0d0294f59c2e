"""Predictions as columns and as files."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from burnish.artifact.predictor import as_predictions
from burnish.artifact.tables import prediction_columns, write_table
from burnish.data.columns import parse_columns as cells
from burnish.data.readers.read import read_file
from burnish.errors import DataError
from burnish.spec.values import Outcome

SUFFIXES = [".parquet", ".arrow", ".jsonl", ".csv", ".tsv"]
REPEATED = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


def outcome(kind: str) -> Outcome:
    outputs = {
        "binary": np.array([[0.9, 0.1], [0.2, 0.8]]),
        "multilabel": np.array([[0.9, 0.8], [0.1, 0.2]]),
        "regression": np.array([1.5, 2.5]),
    }[kind]
    decisions = {"binary": np.array([0, 1]), "multilabel": np.array([[1, 1], [0, 0]]), "regression": outputs}[kind]
    labels = () if kind == "regression" else ("neg", "pos")
    return Outcome(kind, np.arange(2), outputs, decisions, None, labels)


def test_classes_are_named() -> None:
    columns = prediction_columns(outcome("binary"))
    assert columns["predicted"].to_pylist() == ["neg", "pos"]
    assert columns["confidence"].to_pylist() == [0.9, 0.8]
    assert columns["probabilities"].to_pylist()[0] == {"neg": 0.9, "pos": 0.1}


def test_several_labels_are_joined_and_numbers_stay_numbers() -> None:
    assert prediction_columns(outcome("multilabel"))["predicted"].to_pylist() == ["neg;pos", ""]
    assert prediction_columns(outcome("regression"))["predicted"].to_pylist() == [1.5, 2.5]


ODD = "\t\n\r\"',;\x00\x0b\x1c\x85\u2028\ufeff\u0661é😀 a0"
texts = st.text(st.sampled_from(ODD), max_size=6)
numbers = st.none() | st.floats(-1e150, 1e150) | st.sampled_from([0.1, np.nan, np.inf, -np.inf])


@REPEATED
@given(st.lists(st.tuples(texts, texts, numbers), min_size=1, max_size=6), st.sampled_from(SUFFIXES))
def test_whatever_is_written_is_read_back(tmp_path: Path, rows: list[tuple[str, str, float]], suffix: str) -> None:
    first, second, number = zip(*rows, strict=True)
    table = pa.table({"one": first, "two": second, "n": pa.array(number, pa.float64()), "p": [{"a": 0.5}] * len(rows)})
    path = tmp_path / f"out{suffix}"
    if suffix == ".tsv" and any(mark in text for text in first + second for mark in "\t\r\n"):
        with pytest.raises(DataError, match=r"holds a tab or a line end, which a \.tsv file cannot hold; .csv"):
            write_table(table, path, suffix=suffix)
        return
    write_table(table, path, suffix=suffix)
    found = read_file(str(path), columns=("one", "two", "n")).table
    assert (found["one"].to_pylist(), found["two"].to_pylist()) == ([*first], [*second])
    assert [value for value in cells.parse_numbers(found["n"]).values if np.isfinite(value)] == [
        value for value in number if value is not None and np.isfinite(value)
    ]


def test_json_lines_are_json_whatever_the_numbers(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    table = pa.table({"n": [float("nan"), float("inf"), 1.5], "p": [{"a": float("-inf")}, {"a": 0.5}, None]})
    write_table(table, path, suffix=".jsonl")
    lines = [json.loads(line, parse_constant=pytest.fail) for line in path.read_text().splitlines()]
    assert lines == [{"n": None, "p": {"a": None}}, {"n": None, "p": {"a": 0.5}}, {"n": 1.5, "p": None}]


def test_a_tsv_file_is_plain(tmp_path: Path) -> None:
    path = tmp_path / "out.tsv"
    write_table(pa.table({"text": ['she said "no"', '"no" she said'], "n": [1.5, None]}), path, suffix=".tsv")
    assert path.read_text().splitlines() == ["text\tn", 'she said "no"\t1.5', '"no" she said\t']


def test_no_column_is_written_twice(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    table = pa.table({"probability_neg": [0.0, 0.0], **prediction_columns(outcome("binary"))})
    write_table(table, path, suffix=".csv")
    names = path.read_text().splitlines()[0].replace('"', "").split(",")
    assert names == ["probability_neg", "predicted", "confidence", "burnish_probability_neg", "probability_pos"]


MATRIX = np.array([[0.2, 0.8], [0.7, 0.3]])
OUTCOMES = {
    "binary": Outcome("binary", np.arange(2), MATRIX, np.array([1, 0]), None, ("no", "yes")),
    "named": Outcome("binary", np.arange(2), MATRIX, np.array([1, 0]), None, ("0", "1"), names=("No", "Yes")),
    "multilabel": Outcome("multilabel", np.arange(2), MATRIX, np.array([[1, 1], [0, 0]]), None, ("a", "b")),
    "regression": Outcome("regression", np.arange(2), np.array([1.5, 2.0]), np.array([1.5, 2.0]), None),
    "answers": Outcome(
        *("spans", np.arange(2), np.zeros(2), np.array(["x", "y"], object), None),
        answers=pa.table({"predicted": ["x", "y"], "n_best": [["x"], ["y", "z"]]}),
    ),
}


@pytest.mark.parametrize("kind", OUTCOMES)
def test_a_prediction_has_the_same_names_in_python_json_and_files(kind: str) -> None:
    outcome = OUTCOMES[kind]
    rows = pa.table(prediction_columns(outcome)).to_pylist()
    predictions = as_predictions(outcome)
    assert [each.record() for each in predictions] == rows
    for prediction, row in zip(predictions, rows, strict=True):
        for name, value in row.items():
            is_list = isinstance(getattr(prediction, name, None), list)
            told = ";".join(getattr(prediction, name)) if is_list else getattr(prediction, name, value)
            assert told == value


def test_a_prediction_keeps_the_names_it_had_before() -> None:
    binary, named, number = (as_predictions(OUTCOMES[kind])[0] for kind in ("binary", "named", "regression"))
    assert (binary.label, binary.value, binary.name) == ("yes", None, None)
    assert (named.label, named.name) == ("1", "Yes")
    assert (number.label, number.value) == (None, 1.5)
