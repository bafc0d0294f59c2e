"""What a column seems to be."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.columns.datetimes import take_part
from burnish.tasks.tabular.features import FrameEncoder
from burnish.tasks.tabular.fit import Fitter
from burnish.tasks.tabular.frame import ColumnFrame
from burnish.tasks.tabular.guess import Guess, guess
from burnish.tasks.tabular.options import ColumnOptions
from burnish.tasks.tabular.plan import TablePlan
from burnish.tasks.tabular.profile import notes_of

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


DAYS = [f"{day:02d}/{1 + day % 12:02d}/2024" for day in range(1, 29)]
MONTHS = [f"{1 + day % 12:02d}/{day:02d}/2024 6:30 PM" for day in range(1, 29)]


@pytest.mark.parametrize(
    ("dates", "day_first", "days"), [(DAYS, True, range(1, 29)), (MONTHS, False, range(1, 29))], ids=["day", "month"]
)
def test_dates_with_slashes_are_read_in_the_order_that_the_column_shows(
    dates: list[str], day_first: bool, days: Sequence[int]
) -> None:
    frame = ColumnFrame(pa.table({"when": dates}))
    plan = Fitter(frame, {}).fit(["when"], ())
    assert (plan.columns[0].kind, plan.columns[0].day_first) == ("datetime", day_first)
    assert take_part(frame.times("when", day_first=day_first).values, "day").tolist() == list(days)
    kept = TablePlan.from_json(json.loads(json.dumps(plan.to_json())))
    alone = FrameEncoder(kept, ColumnFrame(pa.table({"when": dates[:1]}))).numbers()  # 01/02 alone shows no order
    assert alone.tolist() == FrameEncoder(plan, frame).numbers()[:1].tolist()


@pytest.mark.parametrize("dates", [["01/02/2024", "02/03/2024"] * 20, ["31/12/2024", "12/31/2024"] * 20], ids=str)
def test_dates_that_do_not_show_their_order_stay_words_and_that_is_noted(dates: list[str]) -> None:
    plan = Fitter(ColumnFrame(pa.table({"when": dates})), {}).fit(["when"], ())
    assert plan.columns[0].kind == "category"
    assert "`when` is read as words: its dates do not show whether day or month comes first" in "".join(notes_of(plan))


def test_a_plan_of_an_earlier_version_has_the_same_digest() -> None:
    plan = Fitter(ColumnFrame(pa.table({"when": MONTHS})), {}).fit(["when"], ())
    written = plan.to_json()
    del written["columns"][0]["day_first"]
    assert TablePlan.from_json(written).digest == plan.digest
    assert replace(plan, columns=(replace(plan.columns[0], day_first=True),)).digest != plan.digest


@pytest.mark.parametrize(("written", "day"), [("day/month/year", 3), ("month/day/year", 1)])
def test_dates_that_could_be_either_are_read_as_the_column_says(written: str, day: int) -> None:
    frame = ColumnFrame(pa.table({"when": ["3/1/2024", "4/2/2024"] * 10}))
    plan = Fitter(frame, {"when": ColumnOptions(kind="datetime", format=written)}).fit(["when"], ())
    assert take_part(frame.times("when", day_first=plan.columns[0].day_first).values, "day")[0] == day
