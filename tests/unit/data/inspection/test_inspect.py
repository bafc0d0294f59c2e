"""A data file is looked at the way a person would."""

import json
from pathlib import Path

import pytest

from burnish.data.inspection.inspect import ColumnFacts, find_siblings, inspect_file


def facts(path: Path, column: str) -> ColumnFacts:
    return next(one for one in inspect_file(str(path)).columns if one.name == column)


def test_columns_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    rows = [{"t": f"some words {row} here", "n": row / 2, "k": row % 3, "l": ["a", "b"]} for row in range(20)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert (facts(path, "t").mean_words, facts(path, "t").num_distinct, facts(path, "t").is_number) == (4, 20, False)
    assert (facts(path, "n").is_number, facts(path, "n").is_whole) == (True, False)
    assert (facts(path, "k").is_whole, facts(path, "k").num_distinct) == (True, 3)
    assert facts(path, "l").is_list


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["a;b", "b;c", "a", "c;a", "b"], ";"),
        (["a|b", "b|c", "a", "c|a", "b"], "|"),
        (["a, b", "b, c", "a", "c, a", "b"], ","),
        (["neg", "pos", "neg", "pos", "neg"], None),
        ([f"a fine film, warm and clever, number {row // 2}{'.!'[row % 2]}" for row in range(60)], None),
        (["one, two words and three", "more, of this kind here", "so, it goes on and on", "x", "y"], None),
    ],
)
def test_joined_tags_are_seen(tmp_path: Path, cells: list[str], separator: str | None) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"tags": cell} for cell in cells * 2]))
    assert facts(path, "tags").separator == separator


@pytest.mark.parametrize(
    ("name", "first_line", "has_header"),
    [
        ("a.csv", "text,label", True),
        ("a.csv", "1,a film", False),
        ("a.tsv", "neg\tnothing in this film is worth seeing", False),
    ],
)
def test_a_first_line_of_data_is_no_header(tmp_path: Path, name: str, first_line: str, has_header: bool) -> None:
    (tmp_path / name).write_text(f"{first_line}\n{first_line}\n")
    found = inspect_file(str(tmp_path / name))
    assert found.has_header is has_header
    assert found.num_rows == (1 if has_header else 2)


def test_semicolons_between_fields_are_seen(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text;label\nso, so;1\n")
    assert inspect_file(str(tmp_path / "a.csv")).options.delimiter == ";"


@pytest.mark.parametrize(
    ("there", "asked", "found"),
    [
        (
            ["train.csv", "dev.csv", "test.csv", "test.txt"],
            "train.csv",
            {"train": "train", "validation": "dev", "test": "test"},
        ),
        (
            ["my_train.csv", "my_valid.csv", "other_test.csv"],
            "my_valid.csv",
            {"train": "my_train", "validation": "my_valid"},
        ),
        (["reviews.csv", "test.csv"], "reviews.csv", {}),
    ],
)
def test_neighbours_are_found_by_name(tmp_path: Path, there: list[str], asked: str, found: dict[str, str]) -> None:
    for name in there:
        (tmp_path / name).touch()
    assert find_siblings(f"{tmp_path}/{asked}") == {split: f"{tmp_path}/{stem}.csv" for split, stem in found.items()}


@pytest.mark.parametrize("odd", ["1_000", "①", "\uff12", "--1", "0x1F", "inf", "nan", "9" * 5001])
def test_what_only_looks_like_a_number_to_python_is_none(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("n,m\n" + f"{odd},1\n" * 20)
    assert (facts(path, "n").is_number, facts(path, "m").is_number) == (False, True)
