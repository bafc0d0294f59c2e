"""Right answers are read in every usual shape, and those that are not in their context are told by place."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from burnish.errors import DataError
from burnish.tasks.question_answering.columns import QuestionColumns, read_answers

CONTEXT = "Ann met Bob. Ann left."
SHAPES = {
    "list of text and start": [[{"text": "Ann", "start": 0}, {"text": "Bob", "start": 8}], []],
    "list of text and answer_start": [[{"text": "Ann", "answer_start": 0}, {"text": "Bob", "answer_start": 8}], None],
    "lists under names": [{"text": ["Ann", "Bob"], "answer_start": [0, 8]}, {"text": [], "answer_start": []}],
}


def columns(offsets: Any = "check") -> QuestionColumns:
    return QuestionColumns("question", "context", "answers", "is_impossible", "id", offsets)


def table(*answers: Any, **more: Any) -> pa.Table:
    size = len(answers)
    return pa.table({"question": ["Who?"] * size, "context": [CONTEXT] * size, "answers": list(answers), **more})


def whats(rows: pa.Table, *, may_be_open: bool = False, offsets: Any = "check") -> list[tuple[int, str]]:
    return [(fault.row, fault.what) for fault in columns(offsets).faults(rows, may_be_open=may_be_open)]


@pytest.mark.parametrize("written", SHAPES.values(), ids=list(SHAPES))
def test_all_shapes_say_the_same(written: list[Any]) -> None:
    found = read_answers(pa.chunked_array([pa.array(written)]), name="answers")
    assert found.counts.tolist() == [2, 0]
    assert (found.texts, found.starts.tolist()) == (["Ann", "Bob"], [0, 8])
    assert found.by_row().tolist() == [("Ann", "Bob"), ()]
    assert [each.tolist() for each in found.first_spans()] == [[0, -1], [3, -1]]


def test_texts_alone_have_no_place() -> None:
    lists = read_answers(pa.chunked_array([[["Ann"], []]]), name="answers")
    plain = read_answers(pa.chunked_array([["Ann", ""]]), name="answers")
    for found in (lists, plain):
        assert (found.counts.tolist(), found.texts, found.starts.tolist()) == ([1, 0], ["Ann"], [-1])


@pytest.mark.parametrize("written", [[1, 2], [[1], [2]], [[{"text": "x"}]], [{"a": 1}]])
def test_what_holds_no_answers_is_refused(written: list[Any]) -> None:
    with pytest.raises(DataError, match=r"the column `answers` holds .*, and answers are needed"):
        read_answers(pa.chunked_array([pa.array(written)]), name="answers")


def test_answers_that_are_elsewhere_or_nowhere_are_all_told() -> None:
    rows = table(
        [{"text": "Ann", "start": 0}],
        [{"text": "Bob", "start": 7}],
        [{"text": "Eve", "start": 8}, {"text": " ", "start": 3}],
        [{"text": "Bob", "start": None}],
        id=["a", "b", "c", "d"],
    )
    assert whats(rows) == [
        (1, "question b: the answer 'Bob' is not at character 7 of the context, which has ' Bo' there"),
        (2, "question c: the answer 'Eve' is not in it"),
        (2, "question c: has an empty answer"),
        (3, "question d: the answer 'Bob' has no start; task.answer_offsets: repair finds it"),
    ]


def test_repair_takes_the_nearest_place() -> None:
    rows = table([{"text": "Ann", "start": 10}], [{"text": "Ann", "start": 3}], [{"text": "Bob", "start": None}])
    found = columns("repair").right_answers(rows)
    assert found is not None
    assert found.starts.tolist() == [13, 0, 8]
    assert whats(rows, offsets="repair") == []
    assert len(whats(table([{"text": "Eve", "start": 0}]), offsets="repair")) == 1


def test_lists_of_unequal_length_are_told_by_row() -> None:
    rows = table({"text": ["Ann"], "answer_start": [0]}, {"text": ["Bob", "Ann"], "answer_start": [8]})
    assert [row for row, _ in whats(rows)] == [1, 1]


def test_a_question_without_an_answer_must_be_allowed() -> None:
    rows = table([{"text": "Ann", "start": 0}], [])
    assert whats(rows) == [(1, "has no answer; task.no_answer: true allows questions without one")]
    assert whats(rows, may_be_open=True) == []


def test_what_contradicts_itself_is_told() -> None:
    rows = table([{"text": "Ann", "start": 0}], [], is_impossible=[True, False])
    assert whats(rows, may_be_open=True) == [
        (0, "has an answer, and is_impossible says that it has none"),
        (1, "has no answer, and is_impossible says that it has one"),
    ]


def test_empty_questions_and_contexts_are_told() -> None:
    rows = pa.table({"question": ["", "Who?"], "context": ["Ann", None]})
    assert whats(rows) == [(0, "question is empty"), (1, "context is empty")]


def test_a_part_of_a_table_reads_its_own_answers() -> None:
    rows = table(*([{"text": name, "start": CONTEXT.index(name)}] for name in ("Ann", "met", "Bob"))).slice(1, 2)
    found = columns().right_answers(rows)
    assert found is not None
    assert found.texts == ["met", "Bob"]
    np.testing.assert_array_equal(found.starts, [4, 8])
