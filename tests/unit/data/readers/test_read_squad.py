"""SQuAD documents come out as flat rows, and what is broken in them by its path."""

import gzip
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.files import Files
from burnish.data.readers.read_json import read_json
from burnish.errors import DataError
from tests.data_request import Asked
from tests.shared_data import shared_data

QUESTION = {"id": "q1", "question": "Who?", "answers": [{"text": "Ann", "answer_start": 0}]}


def document(*questions: Any, context: Any = "Ann met Bob.") -> dict[str, Any]:
    return {"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": context, "qas": list(questions)}]}]}


def read(value: Any, **options: Any) -> tuple[list[dict[str, Any]], list[str]]:
    rows, bad = read_json(pa.py_buffer(json.dumps(value).encode()), name="a.json", **options)
    return rows.table.to_pylist(), [str(each) for each in bad]


def test_a_question_is_a_row() -> None:
    rows, bad = read(document(QUESTION))
    assert bad == []
    assert rows == [
        {
            "id": "q1",
            "title": "T",
            "question": "Who?",
            "context": "Ann met Bob.",
            "answers": [{"text": "Ann", "start": 0}],
        }
    ]


def test_questions_without_an_answer_are_rows_too() -> None:
    rows, _ = read(document(QUESTION | {"is_impossible": True, "answers": [], "plausible_answers": [1]}))
    assert (rows[0]["answers"], rows[0]["is_impossible"]) == ([], True)


def test_a_file_without_answers_can_be_predicted() -> None:
    rows, _ = read(document({"id": 7, "question": "Who?"}))
    assert rows == [{"id": "7", "title": "T", "question": "Who?", "context": "Ann met Bob."}]


@pytest.mark.parametrize(
    ("question", "complaint"),
    [
        ("x", "a.json: data[0].paragraphs[0].qas[0] is no object"),
        ({"id": "q"}, "a.json: data[0].paragraphs[0].qas[0] (question q) has no `question`"),
        (QUESTION | {"question": 5}, "a.json: data[0].paragraphs[0].qas[0] (question q1).question is not text"),
        (QUESTION | {"answers": {}}, "a.json: data[0].paragraphs[0].qas[0] (question q1).answers is not a list"),
        (
            QUESTION | {"answers": [{"text": "Ann"}]},
            "a.json: data[0].paragraphs[0].qas[0] (question q1).answers[0] has no `answer_start`",
        ),
        (
            QUESTION | {"answers": [{"text": "Ann", "answer_start": True}]},
            "a.json: data[0].paragraphs[0].qas[0] (question q1).answers[0].answer_start is not a whole number",
        ),
        (
            QUESTION | {"question": "\ud800"},
            "a.json: data[0].paragraphs[0].qas[0] (question q1).question contains half of a surrogate pair, "
            "which is not a character",
        ),
    ],
)
def test_what_is_broken_is_told_by_its_path(question: Any, complaint: str) -> None:
    rows, bad = read(document(question, QUESTION))
    assert (len(rows), bad) == (1, [complaint])


def test_broken_paragraphs_and_articles_are_told_with_the_rest() -> None:
    value = document(QUESTION)
    value["data"] += [{"paragraphs": [{"qas": []}, 3]}, {"title": 1, "paragraphs": []}, {"paragraphs": None}]
    assert read(value)[1] == [
        "a.json: data[1].paragraphs[0] has no `context`",
        "a.json: data[1].paragraphs[1] is no object",
        "a.json: data[2].title is not text",
        "a.json: data[3].paragraphs is not a list",
    ]


def test_a_layout_that_is_asked_for_must_be_there() -> None:
    with pytest.raises(
        DataError,
        match=r"a\.json is not a SQuAD file: expected an object with a list of articles "
        r"under `data`",
    ):
        read([{"question": "x"}], layout="squad")
    with pytest.raises(DataError, match=r"a\.json holds no questions"):
        read({"data": []}, layout="squad")


def test_other_documents_stay_tables() -> None:
    assert read({"data": [{"paragraph": 1}]})[0] == [{"paragraph": 1}]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda deep: (
            st.lists(deep, max_size=3)
            | st.dictionaries(
                st.sampled_from(["data", "paragraphs", "qas", "context", "question", "answers", "id"]), deep, max_size=4
            )
        ),
        max_leaves=12,
    )
)
def test_no_document_ends_in_a_traceback(value: Any) -> None:
    with suppress(DataError):
        read({"data": value}, layout="squad")


def test_files_read_the_shape_and_keep_articles_apart(tmp_path: Path) -> None:
    articles = [document(QUESTION | {"id": f"q{n}"})["data"][0] | {"title": f"T{n}"} for n in range(6)]
    path = tmp_path / "squad.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"data": articles * 3}).encode()))
    splits = Files(train=(str(path),), split={"validation": 0.3, "group": "title"}).load(
        Asked(columns=("question", "context"))
    )
    titles = [set(rows.table["title"].to_pylist()) for rows in (splits.train, splits.validation)]
    assert all(titles)
    assert not titles[0] & titles[1]


def test_the_published_files_are_read_whole() -> None:
    one, two = (shared_data("squad", f"dev-v{version}.json.gz") for version in ("1.1", "2.0"))
    splits = Files(train=(str(one),), validation=(str(two),), layout="squad").load(
        Asked(columns=("question", "context"))
    )
    assert (len(splits.train), len(splits.validation)) == (10_570, 11_873)
    assert sum(splits.validation.table["is_impossible"].to_pylist()) == 11_873 - 5_928
