"""Rows are joined, filtered and checked without losing where they came from."""

from datetime import datetime

import pyarrow as pa
import pytest

from burnish.data.rows import count_values, demand, from_file, join, keep_matching, plain
from burnish.errors import DataError
from burnish.spec.values import Rows


def rows(name: str = "a.csv", **columns: list[object]) -> Rows:
    return from_file(pa.table(columns), name=name, first_line=2)


def test_joined_rows_keep_their_places() -> None:
    joined = join([rows("a.csv", t=["x", "y"]), rows("b.csv", t=["z"])])
    assert [joined.places.describe(row) for row in range(3)] == ["a.csv:2", "a.csv:3", "b.csv:2"]


def test_a_column_that_one_file_lacks_is_null_there() -> None:
    assert join([rows(t=["x"]), rows(t=["y"], n=[1])]).table["n"].to_pylist() == [None, 1]


def test_a_column_of_two_types_becomes_text() -> None:
    assert join([rows(label=[1]), rows(label=["x"])]).table["label"].to_pylist() == ["1", "x"]


def test_filtering_keeps_places_and_reads_values_as_the_column_does() -> None:
    kept = keep_matching(rows(n=[1, 5, 7], t=["x", "y", "z"]), {"n": ("5", "7"), "t": ("y", "x")})
    assert kept.table["t"].to_pylist() == ["y"]
    assert kept.places.describe(0) == "a.csv:3"


def test_a_null_matches_no_filter() -> None:
    assert len(keep_matching(rows(t=["x", None]), {"t": ("x",)})) == 1


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"nn": ("1",)}, r"data\.filter: there is no column `nn`"),
        ({"n": ("one",)}, r"data\.filter\.n: the column holds int64, and one is not of that type"),
    ],
)
def test_a_filter_that_cannot_match_is_refused(wanted: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        keep_matching(rows(n=[1]), wanted)


def test_every_missing_column_is_named_with_the_nearest() -> None:
    with pytest.raises(DataError) as caught:
        demand(rows(txt=["x"], Label=["0"]), ("text", "label", "txt"), why="task")
    assert str(caught.value).splitlines() == [
        "task: there is no column `text`. Did you mean `txt`? The columns are txt, Label",
        "task: there is no column `label`. Did you mean `Label`? The columns are txt, Label",
        "  in a.csv",
    ]


def test_several_columns_in_one_name_are_taken_for_a_list() -> None:
    with pytest.raises(
        DataError, match=r"no column `subject,body`\. Did you mean '\[subject, body\]'\? The columns are"
    ):
        demand(rows(subject=["x"], body=["y"]), ("subject,body",), why="task.text")


def test_a_row_taken_for_a_header_is_suspected() -> None:
    with pytest.raises(DataError, match=r"set data\.header: false and data\.columns"):
        demand(rows(**{"1": ["0"], "a film": ["x"]}), ("text",), why="task")


@pytest.mark.parametrize(
    ("column", "numbers", "count"),
    [
        (pa.array(["b", "a", None, "b", None]), [0, 1, 2, 0, 2], 3),
        (pa.array([["a"], ["b"], ["a"]]), [0, 1, 0], 2),
        (pa.nulls(2, pa.string()), [0, 0], 1),
        (pa.array([2.5, 1.0, 2.5]), [0, 1, 0], 2),
    ],
)
def test_distinct_values_are_numbered_in_order_of_appearance(column: pa.Array, numbers: list[int], count: int) -> None:
    found, how_many = count_values(pa.chunked_array([column]))
    assert (found.tolist(), how_many) == (numbers, count)


@pytest.mark.parametrize(
    ("name", "said"), [("a;b", 'a semicolon, set data.delimiter: ";"'), ("a\tb", r'a tab, set data.delimiter: "\\t"')]
)
def test_one_column_that_was_meant_as_two_names_the_delimiter(name: str, said: str) -> None:
    rows = from_file(pa.table({name: ["x"]}), name="a.csv", first_line=2)
    with pytest.raises(DataError, match=said) as caught:
        demand(rows, ("a",), why="task")
    assert "Did you mean" not in str(caught.value)


def test_text_stored_as_bytes_is_text_and_other_bytes_stay() -> None:
    table = pa.table({"text": [b"x", "ü".encode()], "picture": [b"\xff\xd8", b"\x00"]})
    rows = from_file(table, name="a.parquet", first_line=0)
    assert rows.table.column("text").to_pylist() == ["x", "ü"]
    assert rows.table.column("picture").to_pylist() == [b"\xff\xd8", b"\x00"]


def test_files_that_do_not_fit_together_are_named() -> None:
    parts = [
        from_file(pa.table({"text": ["x"], "label": values}), name=name, first_line=0)
        for name, values in (("a.parquet", ["pos"]), ("b.parquet", [["pos", "neg"]]))
    ]
    with pytest.raises(DataError, match=r"`label` holds string in a.parquet and list<.*> in b.parquet"):
        join(parts)


ODD_TYPES = {
    "fixed": pa.array([b"ab", b"cd", None], pa.binary(2)),
    "bytes": pa.array([b"\xff\x00", b"cd", None], pa.binary(2)),
    "view": pa.array([b"a", b"bc", None], pa.binary_view()),
    "words": pa.array(["a", "bc", None], pa.string_view()),
    "when": pa.array([1, 1_700_000_000_000_000_123, None], pa.timestamp("ns")),
    "zone": pa.array([1, 1_700_000_000_000_000_123, None], pa.timestamp("ns", "UTC")),
    "span": pa.array([1, 1_001, None], pa.duration("ns")),
    "clock": pa.array([1, 1_001, None], pa.time64("ns")),
    "coded": pa.array([b"ab", b"cd", None], pa.binary(2)).dictionary_encode(),
    "coded_view": pa.DictionaryArray.from_arrays(pa.array([0, 1, None]), pa.array(["a", "bc"], pa.string_view())),
}


def test_types_that_only_storage_cares_about_become_plain_ones() -> None:
    found = plain(pa.table(ODD_TYPES))
    assert {name: str(kind) for name, kind in zip(found.column_names, found.schema.types, strict=True)} == {
        "fixed": "string",
        "bytes": "binary",
        "view": "string",
        "words": "string",
        "when": "timestamp[us]",
        "zone": "timestamp[us, tz=UTC]",
        "span": "duration[us]",
        "clock": "time64[us]",
        "coded": "string",
        "coded_view": "string",
    }
    assert found.to_pylist()[1]["when"] == datetime(2023, 11, 14, 22, 13, 20)
    assert found["view"].to_pylist() == ["a", "bc", None]


CONDITIONS = [
    ("fare > 0 and seconds < 3600", [1]),
    ("fare > 0 or seconds < 3600", [0, 1, 2]),
    ("company == 'b' and not fare == 0", [2]),
    ("company in ['a', 'c']", [0, 1]),
    ("is_missing(fare)", [3]),
]


@pytest.mark.parametrize(("condition", "kept"), CONDITIONS)
def test_a_condition_keeps_the_rows_of_which_it_is_true(condition: str, kept: list[int]) -> None:
    columns = {"fare": ["0", "5", "7.5", None], "seconds": [60, 60, 9000, 7000], "company": ["a", "a", "b", "b"]}
    rows = from_file(pa.table({"n": [0, 1, 2, 3], **columns}), name="trips.csv", first_line=2)
    assert keep_matching(rows, condition).table["n"].to_pylist() == kept
