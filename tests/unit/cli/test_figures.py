import math

import pytest

from burnish.cli.figures import duration, facts_table, figure, interval, number, score_text
from burnish.spec.values import Score


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567, "1,234,567"),
        (0, "0"),
        (True, "yes"),
        (0.123456, "0.1235"),
        (2e-5, "2e-05"),
        (0.0, "0"),
        (123456.7, "123,457"),
        (1e15, "1e+15"),
        (math.nan, "nan"),
        (math.inf, "inf"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 00 s"),
        (192, "3 min 12 s"),
        (3600, "1 h 00 min"),
        (7500, "2 h 05 min"),
        (100_800, "1 d 04 h"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_scores_line_up_and_carry_their_interval() -> None:
    assert figure(0.9) == "0.9000"
    assert figure(math.nan) == "\N{EN DASH}"
    assert interval(Score(math.nan, why="the truth is 1 in every row")) == "not defined: the truth is 1 in every row"
    assert interval(Score(0.5)) == ""
    assert score_text(Score(0.5, 0.4, 0.6)) == "0.5000 (0.4000 to 0.6000)"
    assert score_text(Score(0.5)) == "0.5000"
    assert score_text(None) == "-"


def test_facts_are_a_small_table() -> None:
    facts = {
        "train_rows": 9000,
        "validation_rows": 1000,
        "skipped_rows": 3,
        "validation": "10% of train",
        "texts_cut": 0.1221,
        "tokens_dropped": 0.0,
        "longest_text": 286,
        "median_text": 53,
        "parameters": 22_713_986,
        "share_cut": 0.25,
        "device": "cpu",
        "select": "f1",
    }
    assert facts_table(facts) == [
        ("rows", "train 9,000 · validation 1,000 · skipped 3"),
        ("validation", "10% of train"),
        ("texts", "cut 12.2% · tokens dropped 0.0% · longest 286 · median 53"),
        ("parameters", "22,713,986"),
        ("share cut", "0.25"),
        ("device", "cpu"),
    ]


def test_counts_are_written_as_counts() -> None:
    assert figure(7.0, name="true_positives") == "7"
    assert figure(1204.0, name="false_negatives_very_good") == "1,204"
    assert figure(7.25, name="true_positives") == "7.25"  # rows may weigh less than 1
    assert figure(1.0, name="accuracy") == "1.0000"
    assert score_text(Score(7.0, 3.0, 9.0), name="true_negatives") == "7 (3 to 9)"
