"""Predictions as columns and as files."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from burnish.artifact.tables import prediction_columns, write_table
from burnish.spec.values import Outcome


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


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".jsonl", ".csv", ".tsv"])
def test_every_format_holds_every_row(tmp_path: Path, suffix: str) -> None:
    table = pa.table({"text": ['a "quoted"\nline', "tab\there"], **prediction_columns(outcome("binary"))})
    path = tmp_path / "out"
    write_table(table, path, suffix=suffix)
    rows = read(path, suffix)
    assert [row["text"] for row in rows] == ['a "quoted"\nline', "tab\there"]
    assert [row["predicted"] for row in rows] == ["neg", "pos"]


def read(path: Path, suffix: str) -> list[dict[str, object]]:
    if suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    if suffix == ".parquet":
        return pyarrow.parquet.read_table(path).to_pylist()
    if suffix == ".arrow":
        return pyarrow.feather.read_table(path).to_pylist()
    options = pyarrow.csv.ParseOptions(delimiter="\t" if suffix == ".tsv" else ",", newlines_in_values=True)
    return pyarrow.csv.read_csv(path, parse_options=options).to_pylist()


def test_a_tsv_file_is_plain_where_it_can_be(tmp_path: Path) -> None:
    path = tmp_path / "out.tsv"
    write_table(
        pa.table({"text": ['she said "no"', '"no" she said', "a\tb"], "n": [1.5, None, 3.0]}), path, suffix=".tsv"
    )
    assert path.read_text().splitlines() == ["text\tn", 'she said "no"\t1.5', '"""no"" she said"\t', '"a\tb"\t3.0']


def test_no_column_is_written_twice(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    table = pa.table({"probability_neg": [0.0, 0.0], **prediction_columns(outcome("binary"))})
    write_table(table, path, suffix=".csv")
    names = path.read_text().splitlines()[0].replace('"', "").split(",")
    assert names == ["probability_neg", "predicted", "confidence", "burnish_probability_neg", "probability_pos"]
