"""The word that was meant."""

from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from burnish.nearest import _edits, absent_file, nearest


@given(st.text("abc", max_size=6), st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_edits_are_a_distance(a: str, b: str, c: str) -> None:
    assert _edits(a, a) == 0
    assert (_edits(a, b) == 0) == (a == b)
    assert _edits(a, b) == _edits(b, a)
    assert abs(len(a) - len(b)) <= _edits(a, b) <= max(len(a), len(b))
    assert _edits(a + c, b + c) <= _edits(a, b)


@given(st.text("abcdefgh", min_size=2, max_size=8).filter(lambda w: all(x != y for x, y in pairwise(w))), st.data())
def test_swapping_neighbours_is_one_edit(word: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(word) - 2))
    assert _edits(word, word[:at] + word[at + 1] + word[at] + word[at + 2 :]) == 1


def test_the_nearest_word_is_found_or_none() -> None:
    assert nearest("batch_siz", ["length", "batch", "clip"]) == "batch"
    assert nearest("by", ["yb", "group"]) == "yb"
    assert nearest("xyzzy", ["length", "batch"]) is None
    assert nearest("a", []) is None


def test_a_file_is_meant_by_its_name_and_not_by_its_ending(tmp_path: Path) -> None:
    for name in ("wine.csv", "old.csv.gz", "notes.txt"):
        (tmp_path / name).touch()

    def said(name: str) -> str:
        return absent_file(str(tmp_path / name), written=name)

    assert said("nope.csv") == f"there is no file nope.csv in {tmp_path}; CSV files here: old.csv.gz, wine.csv"
    assert said("nope.csv.gz") == f"there is no file nope.csv.gz in {tmp_path}; CSV files here: old.csv.gz, wine.csv"
    assert said("wine.tsv") == "there is no file wine.tsv. Did you mean `wine.csv`?"
    assert said("nope.parquet") == (
        f"there is no file nope.parquet in {tmp_path}; files here: notes.txt, old.csv.gz, wine.csv"
    )
    assert said("a/b.csv") == f"there is no file a/b.csv, nor a folder {tmp_path}/a"
