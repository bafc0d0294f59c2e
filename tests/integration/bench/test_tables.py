"""A table is trained many times faster than by a loop over its rows, and its cost grows with the rows and no faster."""

from pathlib import Path

import pytest

from bench.table_speed import table_speed
from bench.table_synthetic import write_table
from bench.table_turn import TURNS


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BURNISH_CACHE", str(tmp_path / "cache"))


def test_a_batch_of_columns_beats_a_loop_over_rows(tmp_path: Path) -> None:
    file = write_table(tmp_path / "rows.csv", rows=6000)
    TURNS["ours"](file, tmp_path, "linear")  # torch does some things once
    ours, theirs = (TURNS[who](file, tmp_path, "linear") for who in ("ours", "loop"))
    assert ours["rows"] == theirs["rows"]
    # Fourteen to nineteen times were measured; a busy machine blurs it.
    assert theirs["stages"]["train"] > 8 * ours["stages"]["train"]


def test_reading_and_encoding_cost_no_more_a_row_when_there_are_more(tmp_path: Path) -> None:
    seconds = []
    for rows in (4000, 32_000):
        turn = TURNS["ours"](write_table(tmp_path / f"{rows}.csv", rows=rows), tmp_path, "linear")
        seconds.append(turn["stages"]["read"] / rows)
    assert seconds[1] < 1.5 * seconds[0]


def test_both_tables_are_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    turn = {"stages": {"read": 1.0, "train": 2.0, "evaluate": 1.0}, "memory": {"read": 30}, "rows": 100}
    monkeypatch.setattr("bench.table_speed._turn", lambda words, tell: lambda: {**turn, "table_bytes": 20})
    lines = list(table_speed(tmp_path, rounds=1, is_quick=True, tell=lambda sentence: None))
    assert lines[2] == "| `linear` | 50 (50 to 50) | 50 (50 to 50) | 1.0x (1.0 to 1.0) |"
    assert lines[-1] == "| 20,000 | 1.00 s | 2.00 s | 1.00 s | 4.00 s | 1.00x (1.00 to 1.00) | 1.5x | 1.5x |"
