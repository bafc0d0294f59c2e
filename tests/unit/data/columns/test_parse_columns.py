"""Columns read the same however they were written, and what is wrong is told from what is missing."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.columns.datetimes import take_part
from burnish.data.columns.parse_columns import parse_flags, parse_numbers, parse_times, parse_words
from burnish.errors import DataError


def texts(column: pa.Array) -> list[str | None]:
    read = parse_words(column)
    values = [*read.values.to_pylist(), None]
    return [values[code] for code in read.codes]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["5", " 5.0 ", None, "", "?"]),
        pa.array([5.0, 5.0, None, float("nan"), None]),
        pa.array([5, 5, None, None, None]),
    ],
)
def test_one_value_is_one_word_whatever_type_it_came_in(column: pa.Array) -> None:
    assert texts(column) == ["5", "5", None, None, None]


@given(
    st.lists(st.lists(st.sampled_from(["1.5", "", " 2", "?", "-inf", "nan", "+3", "x", "4e2"]), max_size=4), min_size=2)
)
def test_numbers_of_a_column_in_chunks_are_those_of_the_whole(chunks: list[list[str]]) -> None:
    column = pa.chunked_array([pa.array(chunk, pa.string()) for chunk in chunks])
    parts, whole = parse_numbers(column), parse_numbers(column.combine_chunks())
    np.testing.assert_array_equal(parts.values, whole.values)
    np.testing.assert_array_equal(parts.is_wrong, whole.is_wrong)


@given(st.lists(st.one_of(st.none(), st.floats(), st.integers(-(10**6), 10**6)), max_size=40))
def test_numbers_read_from_text_are_those_that_python_reads(values: list[float | None]) -> None:
    read = parse_numbers(pa.array([None if value is None else repr(value) for value in values], pa.string()))
    expected = np.array([np.nan if value is None else float(value) for value in values])
    # Beyond this a number cannot be squared and summed.
    expected = np.where(np.abs(expected) > 1e150, np.copysign(np.inf, expected), expected)
    np.testing.assert_array_equal(read.values, expected)
    assert not read.is_wrong.any()


def test_words_among_numbers_are_wrong_and_marks_of_nothing_are_missing() -> None:
    read = parse_numbers(pa.array(["1.5", "+2", "abc", "NA", "1,5", "inf", " 3 ", "0x10"]))
    assert read.is_wrong.tolist() == [False, False, True, False, True, False, False, True]
    np.testing.assert_array_equal(read.values[[0, 1, 5, 6]], [1.5, 2.0, np.inf, 3.0])


def test_flags_read_yes_and_no_in_many_words() -> None:
    read = parse_flags(pa.array(["Yes", "N", "TRUE", "0", "", "perhaps", "1.0"]))
    np.testing.assert_array_equal(read.values, [1, 0, 1, 0, np.nan, np.nan, 1])
    assert read.is_wrong.tolist() == [False, False, False, False, False, True, False]


@given(st.datetimes(dt.datetime(1950, 1, 1), dt.datetime(2090, 1, 1)))
def test_times_are_those_of_the_calendar(moment: dt.datetime) -> None:
    moment = moment.replace(microsecond=0)
    written = [moment.isoformat(), moment.isoformat(sep=" ") + "Z", moment.strftime("%m/%d/%Y %I:%M:%S %p")]
    seconds = moment.replace(tzinfo=dt.UTC).timestamp()
    read = parse_times(pa.array(written))
    assert read.values.tolist() == [seconds] * 3
    typed = parse_times(pa.array([moment]))
    assert typed.values.tolist() == [seconds]
    parts = {
        name: take_part(read.values[:1], name)[0] for name in ("year", "month", "day", "weekday", "hour", "minute")
    }
    assert parts == {
        "year": moment.year,
        "month": moment.month,
        "day": moment.day,
        "weekday": moment.weekday(),
        "hour": moment.hour,
        "minute": moment.minute,
    }
    assert take_part(read.values[:1], "day_of_year")[0] == moment.timetuple().tm_yday


def test_days_that_are_none_are_wrong() -> None:
    read = parse_times(pa.array(["2024-02-30", "2024-13-01", "yesterday", "2024-02-29T25:00", None, "1.3.2024"]))
    assert read.is_wrong.tolist() == [True, True, True, True, False, False]


def test_a_zone_is_taken_off() -> None:
    read = parse_times(pa.array(["2024-03-01 12:00:00+02:00", "2024-03-01 10:00:00"]))
    assert read.values[0] == read.values[1]


def test_lists_are_refused() -> None:
    with pytest.raises(DataError, match="list"):
        parse_words(pa.array([["a"], ["b"]]))
