"""A table is trained many times faster than by a loop over its rows, and its cost grows with the rows and no faster."""

from pathlib import Path

import pytest

from bench.table_contest import contest
from bench.table_speed import table_speed
from bench.table_synthetic import write_table
from bench.table_turn import TURNS


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BURNISH_CACHE", str(tmp_path / "cache"))


def test_a_batch_of_columns_beats_a_loop_over_rows(tmp_path: Path) -> None:
    file = write_table(tmp_path / "rows.csv", rows=6000)
    rates = contest(file, tmp_path, "linear", batch=1024, rounds=1)
    # More than twenty times and more than fifty were measured; a busy machine blurs it.
    assert rates["ours"][0] > 8 * rates["rows as dicts"][0]
    assert rates["ours"][0] > 20 * rates["rows of a data frame"][0]


def test_a_turn_tells_what_memory_it_takes_on_top_and_what_of_it_no_file_holds(tmp_path: Path) -> None:
    turn = TURNS["ours"](write_table(tmp_path / "rows.csv", rows=3000), tmp_path, "linear")
    assert turn["base"] > max(turn["memory"].values()) >= 0
    assert turn["anonymous"] >= 0


def test_reading_and_encoding_cost_no_more_a_row_when_there_are_more(tmp_path: Path) -> None:
    seconds = []
    for rows in (4000, 32_000):
        turn = TURNS["ours"](write_table(tmp_path / f"{rows}.csv", rows=rows), tmp_path, "linear")
        seconds.append(turn["stages"]["read"] / rows)
    assert seconds[1] < 1.5 * seconds[0]


def test_both_tables_are_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    turn = {"stages": {"read": 1.0, "train": 2.0, "evaluate": 1.0}, "memory": {"read": 30_000_000}}
    turn |= {"anonymous": 10_000_000, "base": 400_000_000, "table_bytes": 20_000_000}
    rates = {"ours": [50.0], "rows as dicts": [25.0], "rows of a data frame": [5.0]}
    said = {"bench.table_turn": turn, "bench.table_contest": rates}
    monkeypatch.setattr("bench.table_speed._asked", lambda module, words, tell: said[module])
    lines = list(table_speed(tmp_path, rounds=1, is_quick=True, tell=lambda sentence: None))
    many = "25 (25 to 25) | 2.0x (2.0 to 2.0) | 5 (5 to 5) | 10.0x (10.0 to 10.0)"
    assert lines[2] == f"| linear, 1,024 | 50 (50 to 50) | {many} |"
    memory = "20 MB | 400 MB | 30 MB, 1.50x | 10 MB, 0.50x | 30 MB, 1.50x"
    assert lines[-1] == f"| 20,000 | 1.00 s | 2.00 s | 1.00 s | 4.00 s | 1.00x (1.00 to 1.00) | {memory} |"
