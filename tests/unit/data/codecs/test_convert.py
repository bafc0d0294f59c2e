"""A value is the same value whichever way it is converted, and a wrong one is told with what would be right."""

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from burnish.data.codecs import convert
from burnish.data.codecs.columns import ColumnSpec, Kind
from burnish.data.codecs.convert import from_cells, from_values, settle_missing
from burnish.errors import DataError

CELLS = st.lists(
    st.sampled_from(
        ["1", "-2", "+3", "4.", ".5", "6e2", "0x10", "1_0", "", " 7 ", "nan", "NaN", "inf", "-Infinity", "1\n"]
    )
    | st.from_regex(r"\A[+-]?[0-9]{1,25}(\.[0-9]{1,3})?\Z")
    | st.floats().map(repr)
    | st.text("0123456789.eE+- \nx", max_size=6),
    max_size=3,
)


@given(CELLS, st.sampled_from(["number", "integer", "boolean"]))
@example(["1", "1\n"], "number")
@example(["0x10"], "integer")
@example(["9223372036854775807", "-9223372036854775808"], "integer")
@example(["9223372036854775808"], "integer")
def test_whole_columns_are_converted_as_single_values_are(cells: list[str], kind: Kind) -> None:
    spec = ColumnSpec("c", kind)
    fast, slow = from_cells(pa.chunked_array([pa.array(cells, pa.string())]), spec), convert._one_by_one(cells, spec)
    assert fast.array.to_pylist() == slow.array.to_pylist()
    assert fast.faults == slow.faults
    assert from_values(cells, spec).array.equals(slow.array)


@given(st.lists(st.none() | st.integers() | st.floats(allow_nan=False)))
def test_numbers_are_the_nearest_that_64_bits_hold(values: list[Any]) -> None:
    found = from_values(values, ColumnSpec("c", "number"))
    for at, (value, read) in enumerate(zip(values, found.array.to_pylist(), strict=True)):
        assert (at in found.faults) or read == (None if value is None else float(value))


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("number", 3, 3.0),
        ("number", "1e3", 1000.0),
        ("number", "$1,234.50", 1234.5),
        ("number", "12 %", 12.0),
        ("integer", "1,234", 1234),
        ("number", math.nan, None),
        ("number", "", None),
        ("number", 2**70, 2.0**70),
        ("number", 1e999, math.inf),
        ("integer", 3.0, 3),
        ("integer", "3.00", 3),
        ("integer", math.nan, None),
        ("boolean", "Yes", True),
        ("boolean", 0, False),
        ("boolean", "", None),
        ("text", 5, "5"),
        ("text", 5.5, "5.5"),
        ("text", True, "true"),
        ("text", {"b64": "w6k"}, "é"),
        ("text", b"\xc3\xa9", "é"),
        ("number", b"1.5", 1.5),
    ],
)
def test_what_is_taken_for_a_value(kind: Kind, value: object, found: object) -> None:
    converted = from_values([value, None], ColumnSpec("c", kind))
    assert (converted.array.to_pylist(), converted.faults) == ([found, None], {})


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("number", True, "true is not a number; expected a number like 12.5"),
        ("number", [1], "a list is not a number"),
        ("number", {"a": 1}, "an object is not a number"),
        ("number", 10**400, "is too large for a number; expected at most 1.8e308"),
        ("number", "1_000", "'1_000' is not a number"),
        ("integer", 2.5, "2.5 is not a whole number; expected a whole number like 12"),
        ("integer", math.inf, "Infinity is not a whole number"),
        ("integer", 2**63, "9223372036854775808 is beyond 64 bits"),
        ("integer", "9" * 5000, "is not a whole number"),
        ("integer", True, "true is not a whole number"),
        ("boolean", 2, "2 is neither true nor false; expected true or false"),
        ("boolean", "maybe", "'maybe' is neither true nor false"),
        ("text", ["a"], "a list is not text; expected text"),
        ("text", "\ud800", "half of a surrogate pair"),
        ("text", {"b64": "?"}, "'?' is not base64"),
        ("text", b"\xff", "bytes that are not UTF-8"),
    ],
)
def test_what_is_wrong_is_told(kind: Kind, value: object, said: str) -> None:
    converted = from_values([None, value], ColumnSpec("c", kind))
    assert list(converted.faults) == [1]
    assert said in converted.faults[1]
    assert len(converted.faults[1]) < 200


def test_a_missing_value_becomes_the_default_or_stays_missing_or_is_refused() -> None:
    values = from_values([1.5, None], ColumnSpec("c", "number"))
    assert settle_missing(values, ColumnSpec("c", "number", default=7)).array.to_pylist() == [1.5, 7.0]
    assert settle_missing(values, ColumnSpec("c", "number", is_required=False)).array.to_pylist() == [1.5, None]
    assert settle_missing(values, ColumnSpec("c", "number")).faults == {
        1: "is missing and has no default; expected a number like 12.5"
    }


def test_nan_is_missing_beside_values_of_other_kinds_too() -> None:
    assert from_values([math.nan, "1", 2], ColumnSpec("c", "number")).array.to_pylist() == [None, 1.0, 2.0]


def test_an_empty_cell_is_missing_but_where_a_text_must_be_given() -> None:
    cells = pa.chunked_array([["", "x"]])
    assert from_cells(cells, ColumnSpec("c")).array.to_pylist() == ["", "x"]
    assert from_cells(cells, ColumnSpec("c", default="-")).array.to_pylist() == [None, "x"]
    assert from_cells(cells, ColumnSpec("c", is_required=False)).array.to_pylist() == [None, "x"]


def test_a_default_that_does_not_fit_is_refused() -> None:
    with pytest.raises(DataError, match="the default of column `c` does not fit: 'much' is not a number"):
        settle_missing(from_values([None], ColumnSpec("c", "number")), ColumnSpec("c", "number", default="much"))


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("words", [{"text": None, "words": ["a"]}, {"text": "a plot", "words": None}, None]),
        ("texts", [["a"], ["a plot"], None]),
    ],
)
def test_among_lists_a_text_is_a_list_of_one_and_words_are_still_found_in_it(kind: Kind, found: list[Any]) -> None:
    assert from_values([["a"], "a plot", None], ColumnSpec("c", kind)).array.to_pylist() == found
    assert from_values(["a plot", None], ColumnSpec("c", kind)).array.equals(pa.array(["a plot", None], pa.string()))


def test_lists_of_something_else_are_refused_by_their_item() -> None:
    found = from_values([["a", ["b"]], [], ["a"], [None]], ColumnSpec("c", "words"))
    assert found.faults == {
        0: 'item 2 of the list is a list; expected text, or a list of words like ["a", "word"]',
        1: 'an empty list; expected text, or a list of words like ["a", "word"]',
        3: 'item 1 of the list is null; expected text, or a list of words like ["a", "word"]',
    }
    assert "is not text; expected text" in from_values([["a"]], ColumnSpec("c")).faults[0]
