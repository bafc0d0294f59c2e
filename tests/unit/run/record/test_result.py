import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.run.record.result import RunResult, ScoreSheet, sheet_from_json, sheet_of, sheet_to_json
from burnish.spec.values import Score, Times

numbers = st.floats(allow_nan=False)
scores = st.dictionaries(
    st.text(max_size=4), st.builds(Score, numbers, low=st.none() | numbers, high=st.none() | numbers), max_size=3
)
seconds = st.none() | st.floats(0, 1e6)
sheets = st.builds(
    ScoreSheet,
    st.text(max_size=4),
    st.dictionaries(st.text(max_size=4), scores, max_size=3),
    st.dictionaries(st.text(max_size=4), scores, max_size=3),
    st.booleans(),
    st.dictionaries(st.text(max_size=4), st.builds(Times, seconds, seconds), max_size=3),
)


@given(sheets)
def test_scores_survive_json(sheet: ScoreSheet) -> None:
    assert sheet_from_json(json.loads(json.dumps(sheet_to_json(sheet), allow_nan=False))) == sheet


def test_an_undefined_score_is_null_with_a_reason_and_survives_json() -> None:
    written = sheet_to_json(ScoreSheet("a", {"test": {"a": Score(math.nan, why="all rows are alike")}}, {}))
    assert written["scores"] == {"test": {"a": {"value": None, "low": None, "high": None, "why": "all rows are alike"}}}
    sheet = sheet_from_json(written)
    assert sheet is not None
    assert sheet.judged is not None
    assert math.isnan(sheet.judged.value)
    assert sheet.judged.why == "all rows are alike"


def test_an_undefined_score_of_an_older_version_is_read_too() -> None:
    sheet = sheet_from_json({"headline": "a", "scores": {"test": {"a": {"value": "nan"}}}, "baselines": {}})
    assert sheet is not None
    assert sheet.judged is not None
    assert math.isnan(sheet.judged.value)


@pytest.mark.parametrize("document", [None, [], {}, {"headline": "a"}, {"headline": "a", "scores": 3, "baselines": {}}])
def test_anything_else_reads_as_nothing(document: object) -> None:
    assert sheet_from_json(document) is None


def test_the_headline_is_taken_from_test_before_validation() -> None:
    both = {"validation": {"a": Score(0.1)}, "test": {"a": Score(0.2)}}
    result = RunResult(Path("r"), "finished", 4, both, {}, "a", None, None, 1.0)
    assert sheet_of(result).judged == Score(0.2)
    assert ScoreSheet("a", {"validation": {"a": Score(0.1)}}, {}).judged == Score(0.1)
    assert ScoreSheet("a", {}, {}).judged is None
    assert ScoreSheet("b", both, {}).judged is None


def test_the_headline_is_taken_from_where_it_was_scored() -> None:
    scores = {"test": {"rte/accuracy": Score(0.5)}, "validation": {"mean": Score(0.7), "rte/accuracy": Score(0.6)}}
    sheet = ScoreSheet("mean", scores, {})
    assert (sheet.split, sheet.judged) == ("validation", Score(0.7))
