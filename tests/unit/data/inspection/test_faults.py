"""Rows that cannot be used are refused together, or set aside and counted."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from burnish.data.inspection.faults import BadRow, judge, settle, settle_all
from burnish.data.rows import from_file
from burnish.errors import DataError
from burnish.spec.values import RowFault, Rows


def rows(count: int) -> Rows:
    return from_file(pa.table({"text": [f"t{row}" for row in range(count)]}), name="a.csv", first_line=2)


def settled(count: int, faults: list[RowFault], **options: object) -> Rows:
    given = {"policy": "error", "share": 0.5, "quarantine": None, "split": "train", **options}
    return settle(rows(count), faults, **given)


def test_no_fault_changes_nothing() -> None:
    assert settled(3, []).table.num_rows == 3


def test_errors_are_listed_with_place_and_reason() -> None:
    with pytest.raises(DataError) as caught:
        settled(40, [RowFault(3, "empty text"), RowFault(1, "label 'x' is not one of a, b")])
    assert str(caught.value).splitlines() == [
        "2 of 40 rows of the train split cannot be used",
        "  a.csv:3: label 'x' is not one of a, b",
        "  a.csv:5: empty text",
        "Fix them, or set data.bad_rows: skip to continue without them.",
    ]


def test_the_faults_of_all_splits_are_told_at_once() -> None:
    def faulty(split: str) -> Rows:
        return settled(40, [RowFault(3, "empty text")], split=split)

    with pytest.raises(DataError) as caught:
        settle_all({"train": lambda: faulty("train"), "validation": lambda: rows(2), "test": lambda: faulty("test")})
    told = str(caught.value)
    assert told.count("a.csv:5: empty text") == 2
    assert told.index("1 of 40 rows of the train split") < told.index("1 of 40 rows of the test split")
    assert list(settle_all({"train": lambda: rows(1), "test": lambda: rows(2)})) == ["train", "test"]


def test_rows_with_the_same_cause_are_counted_after_the_first_three() -> None:
    odd = [RowFault(row, f"label 'x{row}' is not one of a, b") for row in range(2, 25)]
    with pytest.raises(DataError) as caught:
        settled(40, [RowFault(1, "empty text"), *odd, RowFault(30, "empty text")])
    assert str(caught.value).splitlines() == [
        "25 of 40 rows of the train split cannot be used",
        "  a.csv:3: empty text",
        "  a.csv:32: empty text",
        "  a.csv:4: label 'x2' is not one of a, b",
        "  a.csv:5: label 'x3' is not one of a, b",
        "  a.csv:6: label 'x4' is not one of a, b",
        "  … and 20 more like these",
        "Fix them. Skipping is not possible: at most 50% of rows may be skipped (data.max_bad_share).",
    ]


def test_a_long_list_of_causes_says_how_many_more() -> None:
    with pytest.raises(DataError, match=r"… and 15 more$"):
        settled(40, [RowFault(row, f"cause {row}") for row in range(25)], split="mine.csv")


def test_skip_drops_them_and_writes_them_down(tmp_path: Path) -> None:
    quarantine = tmp_path / "run" / "bad_rows.jsonl"
    faults = [RowFault(1, "empty text"), RowFault(1, "no label")]
    kept = settled(4, faults, policy="skip", quarantine=quarantine)
    assert kept.table["text"].to_pylist() == ["t0", "t2", "t3"]
    assert [kept.places.describe(row) for row in range(3)] == ["a.csv:2", "a.csv:4", "a.csv:5"]
    assert json.loads(quarantine.read_text()) == {
        "split": "train",
        "file": "a.csv",
        "line": 3,
        "why": "empty text; no label",
        "text": '{"text": "t1"}',
    }


def test_skip_refuses_past_the_share() -> None:
    with pytest.raises(DataError, match=r"2 of 10 rows .*: 20\.00%, but data\.max_bad_share allows 10\.00%"):
        settled(10, [RowFault(0, "x"), RowFault(5, "x")], policy="skip", share=0.1)


def test_exactly_the_share_is_allowed() -> None:
    assert len(settled(10, [RowFault(0, "x")], policy="skip", share=0.1)) == 9


def test_several_splits_share_one_quarantine(tmp_path: Path) -> None:
    quarantine = tmp_path / "bad.jsonl"
    for split in ("train", "test"):
        bad = [BadRow("a.csv", 3, "x", "\udcff")]
        judge(bad, total=9, policy="skip", share=0.5, quarantine=quarantine, split=split)
    assert [json.loads(line)["split"] for line in quarantine.read_text("utf-8").splitlines()] == ["train", "test"]


def test_skipping_is_not_offered_where_it_would_not_help() -> None:
    with pytest.raises(DataError, match=r"Fix them\. Skipping is not possible: at most 1% of rows may be skipped"):
        settled(40, [RowFault(3, "empty text")], share=0.01)


def test_a_file_outside_of_an_experiment_is_called_by_its_name_and_has_no_options() -> None:
    with pytest.raises(DataError) as caught:
        settled(40, [RowFault(3, "empty text")], split="mine.csv")
    assert str(caught.value).splitlines() == ["1 of 40 rows of mine.csv cannot be used", "  a.csv:5: empty text"]
