"""Nested columns fit into CSV cells."""

import pyarrow as pa

from burnish.data.codecs.answers import flatten


def test_probabilities_are_a_column_a_class_and_all_else_is_json() -> None:
    answers = [{"answer_start": [0], "text": ["Ann"]}]
    table = pa.table({"answers": answers, "probabilities": [{"a": 0.25, "b": 0.75}], "tags": [["x", "y"]]})
    assert flatten(table).to_pylist() == [
        {
            "answers": '{"answer_start": [0], "text": ["Ann"]}',
            "probability_a": 0.25,
            "probability_b": 0.75,
            "tags": '["x", "y"]',
        }
    ]
