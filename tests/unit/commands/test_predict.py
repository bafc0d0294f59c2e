"""Rows and files go to a model and come back with its answers; a stand-in model answers here."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from burnish.artifact import predictor as module
from burnish.commands import predict as command
from burnish.errors import DataError
from burnish.spec.values import Outcome, Profile


class Echo:
    """Answer every row with the first class; remember which columns were asked."""

    def __init__(self, *columns: str) -> None:
        self.input_columns = columns
        self.task = SimpleNamespace(input_columns=columns)
        self.profile = Profile("binary", ("no", "yes"))
        self.experiment = SimpleNamespace(data=None)
        self.asked: list[str] = []

    def predict(self, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return list(rows)

    def outcome(self, table: pa.Table, **_: object) -> Outcome:
        self.asked = table.column_names
        shares = np.tile([0.75, 0.25], (len(table), 1))
        return Outcome("binary", np.arange(len(table)), shares, np.zeros(len(table), np.int64), None, ("no", "yes"))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Echo:
    echo = Echo("body")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "find_artifact", Path)
    monkeypatch.setattr(module.Predictor, "load", lambda _path, task, trust_code: echo)
    return echo


def test_text_and_pair_stand_for_the_models_own_columns(model: Echo) -> None:
    assert command.predict("m", [{"text": "x"}]) == [{"body": "x"}]
    model.input_columns = ("body", "more")
    assert command.predict("m", [{"text": "x", "pair": "y"}]) == [{"body": "x", "more": "y"}]


def test_a_pair_for_single_texts_is_refused(model: Echo) -> None:
    with pytest.raises(DataError, match="m takes single texts, but a pair was given"):
        command.predict("m", [{"text": "x", "pair": "y"}])


def test_a_lone_text_for_pairs_is_refused(model: Echo) -> None:
    model.input_columns = ("body", "more")
    with pytest.raises(DataError, match=r"m takes pairs of texts, but one text was given alone; .*--pair"):
        command.predict("m", [{"text": "x"}])


def test_answers_stand_beside_the_files_own_columns_under_free_names(model: Echo) -> None:
    Path("in.csv").write_text("body,predicted,label\nx,1,old\n")
    assert command.predict_file("m", source="in.csv", out=Path("deep/out.csv")) == 1
    header = Path("deep/out.csv").read_text().splitlines()[0].replace('"', "")
    assert header == "body,predicted,label,burnish_predicted,confidence,probability_no,probability_yes"
    assert model.asked == ["body"]


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("out.xlsx", "must end in one of .csv, .tsv"),
        ("in.csv/out.csv", "could not be written: "),
        ("folder.csv", "could not be written: it is a folder"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_any_work(model: Echo, out: str, said: str) -> None:
    Path("in.csv").write_text("body\nx\n")
    Path("folder.csv").mkdir()
    with pytest.raises(DataError, match=said):
        command.predict_file("m", source="in.csv", out=Path(out))
    assert model.asked == []


@pytest.mark.parametrize("rows", [pd.DataFrame({"body": ["a", "b"]}), "a text", pa.table({"body": ["a"]})])
def test_what_is_no_list_of_rows_is_refused_with_what_to_give(model: Echo, rows: Any) -> None:
    with pytest.raises(DataError, match=rf'got a {type(rows).__name__}; of a DataFrame, give df\.to_dict\("records"\)'):
        command.predict("run", rows)
