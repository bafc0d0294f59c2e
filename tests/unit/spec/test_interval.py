"""Lengths with their units: what is written is read back, digit by digit."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.options import Portion
from burnish.optim.schedules import Span
from burnish.spec.interval import NEVER, UNITS, Interval

amounts = st.floats(min_value=0, exclude_min=True, allow_nan=False, allow_infinity=False)


@given(amounts, st.sampled_from([unit for unit in UNITS if unit != "never"]))
def test_an_interval_is_read_back_as_it_was(amount: float, unit: str) -> None:
    interval = Interval(amount, unit)  # type: ignore[arg-type]  # one of the units
    assert Interval.parse(str(interval)) == interval


@given(st.floats(min_value=0, max_value=100) | amounts.filter(float.is_integer), st.sampled_from(["%", "steps"]))
def test_a_span_is_read_back_as_it_was(amount: float, unit: str) -> None:
    span = Span(min(amount, 100.0) if unit == "%" else float(math.ceil(amount)), unit)  # type: ignore[arg-type]  # either
    assert Span.parse(str(span)) == span


@given(st.floats(min_value=0, max_value=1, exclude_min=True, exclude_max=True) | st.integers(1, 2**62).map(float))
def test_a_portion_is_read_back_as_it_was(amount: float) -> None:
    assert Portion.parse(str(Portion(amount))) == Portion(amount)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("0.00005 epochs", "0.00005 epochs"),
        ("0.1234567 epochs", "0.1234567 epochs"),
        ("1 epoch", "1 epoch"),
        ("1_000_000 steps", "1000000 steps"),
        ("never", "never"),
    ],
)
def test_an_interval_is_written_in_plain_digits(written: str, text: str) -> None:
    assert str(Interval.parse(written)) == text


@pytest.mark.parametrize("read", [Interval.parse, Span.parse])
def test_a_number_beyond_all_numbers_is_refused_with_a_sentence(read: type) -> None:
    with pytest.raises(ValueError, match="must be"):
        read("9" * 400 + " steps")


@pytest.mark.parametrize("written", ["inf", "1e400", "nan", "-1"])
def test_a_portion_is_a_number(written: str) -> None:
    with pytest.raises(ValueError, match="must be a share"):
        Portion.parse(written)


def test_never_is_read_back() -> None:
    assert Interval.parse(str(NEVER)) == NEVER
