"""Questions come as SQuAD writes them, and answers go as its scorers read them."""

import json

import pyarrow as pa

from burnish.data.codecs.columns import ColumnSpec
from burnish.data.codecs.formats import beside, decode, encode

COLUMNS = [ColumnSpec("question"), ColumnSpec("context"), ColumnSpec("id", is_required=False)]


def payload(*questions: object) -> bytes:
    return json.dumps({"data": [{"title": "T", "paragraphs": [{"context": "Ann.", "qas": questions}]}]}).encode()


def answers(*ids: str) -> pa.Table:
    best = [{"text": "Ann", "probability": 0.25, "logit": 1.0, "start": 0, "end": 3}]
    columns = {"predicted": [""] * len(ids), "n_best": [best] * len(ids), "null_odds": [1.5] * len(ids)}
    return pa.table({**columns, "no_answer_probability": [0.75] * len(ids), "id": list(ids)})


def test_questions_are_rows() -> None:
    rows = decode(payload({"id": "a", "question": "Who?", "answers": []}), COLUMNS, format="squad")
    assert rows.table.to_pylist() == [{"question": "Who?", "context": "Ann.", "id": "a"}]
    assert rows.unused == ()


def test_broken_questions_keep_their_places() -> None:
    rows = decode(payload({"id": "a"}, {"id": "b", "question": "Who?"}), COLUMNS, format="squad")
    assert [str(error) for error in rows.errors] == [
        "row 1: data[0].paragraphs[0].qas[0] (question a) has no `question`"
    ]
    assert rows.numbers.tolist() == [2]
    assert json.loads(encode(rows, answers("b"), format="squad")) == {"b": ""}


def test_the_next_best_and_the_odds_are_files_beside() -> None:
    rows = decode(payload({"id": "a", "question": "Who?"}), COLUMNS, format="squad")
    files = {name: json.loads(body) for name, body in beside(rows, answers("a"), format="squad").items()}
    assert files == {
        "nbest_predictions.json": {
            "a": [{"text": "", "probability": 0.75}, {"text": "Ann", "probability": 0.25, "logit": 1.0}]
        },
        "null_odds.json": {"a": 1.5},
    }


def test_other_formats_have_nothing_beside() -> None:
    rows = decode(b'[{"question": "Who?", "context": "Ann."}]', COLUMNS, format="json")
    assert beside(rows, answers("a"), format="json") == {}
