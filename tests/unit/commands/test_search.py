"""The nearest passages of a file; a stand-in model counts letters here."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from burnish.artifact import predictor as module
from burnish.cli.main import run
from burnish.commands import search as command
from burnish.data.truncation import Head
from burnish.errors import DataError
from burnish.spec.values import Outcome
from burnish.tasks.embedding.task import Retrieval


class Letters:
    """Embed a text by how often it holds a, b and c."""

    def __init__(self) -> None:
        self.task: object = Retrieval(query="question", passage="answer", truncation=Head())
        self.input_columns = ("question",)
        self.experiment = SimpleNamespace(data=None)

    def outcome(self, table: pa.Table, **_: object) -> Outcome:
        texts = table["question"].to_pylist()
        vectors = np.array([[text.count(letter) for letter in "abc"] for text in texts], np.float32)
        nothing = np.zeros(len(texts), np.int64)
        return Outcome("retrieval", nothing, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), nothing, None)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Letters:
    letters = Letters()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "find_artifact", Path)
    monkeypatch.setattr(module.Predictor, "load", lambda _path, **_options: letters)
    Path("passages.csv").write_text("id,answer\n1,bbb\n2,aab\n3,cab\n4,a\n5,a\n")
    return letters


@pytest.mark.usefixtures("model")
def test_the_nearest_passages_come_first_and_equal_ones_in_their_order() -> None:
    ((first, second, third), (best, *_)) = command.search("m", ["aa", "bc"], source="passages.csv", top=3)
    assert (first.text, first.row, first.place, first.score) == ("a", 4, "passages.csv:5", 1.0)
    assert (second.row, third.text) == (5, "aab")
    assert best.text == "cab"


@pytest.mark.usefixtures("model")
def test_it_is_told_in_a_table_or_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", "m", "passages.csv", "--text", "aa", "--top", "2"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "score   row             passage",
        "1.0000  passages.csv:5  a",
        "1.0000  passages.csv:6  a",
    ]
    assert run(["search", "m", "--in", "passages.csv", "--text", "aa", "--top", "1", "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result == {"text": "aa", "passages": [{"score": 1.0, "row": 4, "place": "passages.csv:5", "text": "a"}]}


@pytest.mark.usefixtures("model")
def test_passages_may_be_in_another_column() -> None:
    Path("other.csv").write_text("body\nab\n")
    with pytest.raises(DataError, match=r"there is no column `answer`; .* body\n  in other.csv\n  say with --column"):
        command.search("m", ["a"], source="other.csv")
    ((hit,),) = command.search("m", ["a"], source="other.csv", column="body")
    assert hit.text == "ab"


def test_a_run_of_another_task_is_refused(model: Letters) -> None:
    model.task = SimpleNamespace(passage="answer")
    with pytest.raises(DataError, match="m did not learn to search: its task is not retrieval"):
        command.search("m", ["a"], source="passages.csv")


@pytest.mark.usefixtures("model")
def test_it_needs_a_file_and_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--text", "a"], ["passages.csv"]):
        assert run(["search", "m", *words]) == 2
        assert "search needs a file of passages and a text" in capsys.readouterr().err
