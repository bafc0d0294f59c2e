"""What a column seems to be."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.tasks.tabular.frame import ColumnFrame
from burnish.tasks.tabular.guess import Guess, guess

FIRST_ID = 2**62


def guessed(values: list[object]) -> Guess:
    return guess(ColumnFrame(pa.table({"amount": values})), "amount")


@pytest.mark.parametrize("kind", [int, str])
def test_ids_of_64_bits_are_told_apart(kind: type) -> None:
    ids = [kind(FIRST_ID + at) for at in range(50)]
    assert guessed(ids).kind == "drop"
    assert guessed(ids).why == "nearly every value is unique, so it looks like an ID"
    assert guessed([kind(FIRST_ID + at % 5) for at in range(50)]) == Guess("category", "5 distinct values")


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, max_size=30))
def test_a_column_is_constant_only_if_it_is(values: list[int]) -> None:
    for column in (values, list(map(str, values))):
        assert ("in every row" in guessed(column).why) == (len(set(values)) == 1)


def test_large_quantities_are_numbers_however_they_are_written() -> None:
    assert guessed(["1e17", "100000000000000000", "2.5e17", "3e16"]).kind == "number"
