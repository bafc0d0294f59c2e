"""Rows and files go to a model and come back with its answers; a stand-in model answers here."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from burnish.artifact import predictor as module
from burnish.artifact.predictor import Prediction
from burnish.cli.main import run
from burnish.commands import predict as command
from burnish.commands.evaluate import evaluate
from burnish.commands.search import search
from burnish.errors import DataError
from burnish.spec.values import Outcome, Profile


class Echo:
    """Answer every row with the first class; remember which columns were asked."""

    def __init__(self, *columns: str) -> None:
        self.input_columns = columns
        self.task = SimpleNamespace(input_columns=columns, reads_rows=False, input_specs=lambda _profile: ())
        self.profile = Profile("binary", ("no", "yes"))
        self.experiment = SimpleNamespace(data=None)
        self.encoder = SimpleNamespace(notes=lambda _rows: ())
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
    monkeypatch.setattr(module.Predictor, "load", lambda _path, **_options: echo)
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
    assert command.predict_file("m", source="in.csv", out=Path("deep/out.csv")).table.num_rows == 1
    header = Path("deep/out.csv").read_text().splitlines()[0].replace('"', "")
    assert header == "body,predicted,label,burnish_predicted,confidence,probability_no,probability_yes"
    assert model.asked == ["body"]


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("out.xlsx", "must end in one of .csv, .tsv"),
        ("in.csv/out.csv", "could not be written: "),
        ("folder.csv", "could not be written: it is a folder"),
        ("/proc/out.csv", r"^/proc/out.csv could not be written: "),
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


def test_numbers_of_a_csv_file_come_back_without_quotes(model: Echo) -> None:
    Path("in.csv").write_text('body,n,code\n"x, y",1.50,007\n"say ""no""",,\n')
    command.predict_file("m", source="in.csv", out=Path("out.csv"))
    assert Path("out.csv").read_text().splitlines() == [
        "body,n,code,predicted,confidence,probability_no,probability_yes",
        '"x, y",1.50,007,no,0.75,0.75,0.25',
        '"say ""no""",,,no,0.75,0.75,0.25',
    ]


def test_without_a_place_a_pipe_gets_the_whole_file(model: Echo, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("in.csv").write_text("body\n" + "x\n" * 20)
    assert run(["predict", "m", "in.csv"]) == 0
    assert capfdbinary.readouterr().out.count(b"x,no,0.75,0.75,0.25\n") == 20
    assert [path.name for path in Path().iterdir()] == ["in.csv"]


def test_without_a_place_a_terminal_shows_the_first_rows_and_names_the_file(
    model: Echo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("deep").mkdir()
    Path("deep/in.csv").write_text("body\n" + "x\n" * 20)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert run(["predict", "m", "deep/in.csv"]) == 0
    said = capsys.readouterr().out
    assert "20 predictions in deep/in.predictions.csv" in said
    assert said.count(" no ") == 5
    assert Path("deep/in.predictions.csv").read_text().count("\n") == 21


def test_without_a_place_json_holds_the_rows(model: Echo, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.csv").write_text("body\nx\n")
    assert run(["predict", "m", "in.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["predictions"] == [
        {"body": "x", "predicted": "no", "confidence": 0.75, "probabilities": {"no": 0.75, "yes": 0.25}}
    ]


def test_choices_are_shown_whole(
    model: Echo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = Prediction("the last", answer={"predicted": "the last", "confidence": 0.5})
    monkeypatch.setattr(Echo, "predict", lambda _self, rows: [answer for _ in rows])
    row = {"article": "long " * 50, "question": "Which one?", "options": ["first choice", "second choice", "the last"]}
    assert run(["predict", "m", "--row", json.dumps(row)]) == 0
    assert "first choice | second choice | the last" in capsys.readouterr().out


def test_an_embedding_is_one_line_of_json(
    model: Echo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = Prediction("3 numbers", answer={"predicted": "3 numbers", "embedding": [0.5, -1e-07, 2.0]})
    monkeypatch.setattr(Echo, "predict", lambda _self, rows: [answer for _ in rows])
    assert run(["predict", "m", "--text", "[\n1\n]", "--json"]) == 0
    assert '"embedding": [0.5, -1e-07, 2.0]\n' in capsys.readouterr().out


def test_loading_is_shown_on_a_terminal_alone(
    model: Echo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Echo, "predict", lambda _self, rows: [Prediction("no", 0.75, {}) for _ in rows])
    assert run(["predict", "m", "--text", "x"]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert run(["predict", "m", "--text", "x"]) == 0
    assert capsys.readouterr().err == "loading m …\r\x1b[K"


def test_a_file_of_another_table_is_one_sentence(model: Echo) -> None:
    model.input_columns = tuple(f"c{number}" for number in range(30))
    Path("iris.csv").write_text("petal,sepal\n1,2\n")
    with pytest.raises(
        DataError, match=r"^iris.csv lacks all 30 columns of the model \(c0, c1, c2, …\); it has petal, sepal$"
    ):
        command.predict_file("m", source="iris.csv")


def test_a_file_that_is_not_there_is_refused_before_the_model_is_loaded(
    model: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.Predictor, "load", lambda _path, **_: pytest.fail("loaded"))
    with pytest.raises(DataError, match=r"^the input: there is no file nope.csv in .*; files here: none"):
        command.predict_file("m", source="nope.csv")
    with pytest.raises(DataError, match=r"there is no file nope\.csv"):
        evaluate("m", data="nope.csv")
    with pytest.raises(DataError, match=r"there is no file nope\.csv"):
        search("m", ["x"], source="nope.csv")
