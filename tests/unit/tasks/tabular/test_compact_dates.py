"""Dates written as bare numbers, like 20240301, are recognised in training and read the same ever after."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.codecs.columns import ColumnSpec
from burnish.data.codecs.convert import from_values
from burnish.data.columns.datetimes import find_compact_form, parse_compact, take_part
from burnish.data.columns.parse_columns import parse_times
from burnish.tasks.tabular.features import FrameEncoder
from burnish.tasks.tabular.fit import Fitter
from burnish.tasks.tabular.frame import ColumnFrame
from burnish.tasks.tabular.options import ColumnOptions
from burnish.tasks.tabular.plan import TablePlan
from burnish.tasks.tabular.profile import notes_of
from burnish.tasks.tabular.rows import _known_of

DAYS = [date(2023, 11, 20) + timedelta(days=at * 3) for at in range(60)]
FORMS = {"YYYYMMDD": "%Y%m%d", "YYYYMM": "%Y%m", "YYYYMMDDHHMM": "%Y%m%d0930", "YYYYMMDDHHMMSS": "%Y%m%d093015"}


def fit(values: list[Any], name: str = "sold_date", **options: Any) -> TablePlan:
    how = {name: ColumnOptions(**options)} if options else {}
    return Fitter(ColumnFrame(pa.table({name: values})), how).fit([name, "other"], ())


@pytest.mark.parametrize("kind", [str, int, float])
@pytest.mark.parametrize("form", FORMS)
def test_a_column_of_compact_dates_is_read_as_dates(form: str, kind: type) -> None:
    plan = fit([kind(day.strftime(FORMS[form])) for day in DAYS])
    column = plan.columns[0]
    assert (column.kind, column.compact) == ("datetime", form)
    assert datetime.fromtimestamp(column.facts["lowest"], UTC).strftime("%Y-%m") == "2023-11"
    assert not column.facts.get("unreadable")


@given(st.datetimes(datetime(1900, 1, 1), datetime(2099, 12, 31)), st.sampled_from([*FORMS]))
def test_a_compact_date_is_the_moment_that_it_names(when: datetime, form: str) -> None:
    pattern = {"YYYYMM": "%Y%m", "YYYYMMDD": "%Y%m%d", "YYYYMMDDHHMM": "%Y%m%d%H%M", "YYYYMMDDHHMMSS": "%Y%m%d%H%M%S"}
    written = when.strftime(pattern[form])
    meant = datetime.strptime(written, pattern[form]).replace(tzinfo=UTC)  # another implementation
    found = parse_times(pa.array([written]), compact=form)  # type: ignore[arg-type]  # one of the forms
    assert (found.values.tolist(), found.is_wrong.tolist()) == ([meant.timestamp()], [False])


@pytest.mark.parametrize(
    "wrong", [20241301, 20240230, 20240300, 20240301.5, 18991231, 21000101, 0, -20240301, 1709251200]
)
def test_a_number_that_is_no_such_date_is_wrong(wrong: float) -> None:
    assert parse_times(pa.array([wrong]), compact="YYYYMMDD").is_wrong.tolist() == [True]


def test_the_reading_is_frozen_so_that_a_row_reads_as_in_training() -> None:
    plan = TablePlan.from_json(json.loads(json.dumps(fit([f"{day:%Y%m%d}" for day in DAYS]).to_json())))
    encoded = [
        FrameEncoder(plan, ColumnFrame(pa.table({"sold_date": [value]}))).numbers().tolist()
        for value in ("20231120", 20231120, "2023-11-20", 20231120.0)
    ]
    assert encoded == [encoded[0]] * 4


def test_a_plan_of_an_earlier_version_keeps_its_reading_and_its_digest() -> None:
    plan = fit([f"{day}" for day in DAYS])
    written = plan.to_json()
    del written["columns"][0]["compact"]
    old = TablePlan.from_json(written)
    assert old.digest == plan.digest
    assert parse_times(pa.array([20240301]), compact=old.columns[0].compact).values.tolist() == [20240301.0]
    assert replace(plan, columns=(replace(plan.columns[0], compact="YYYYMMDD"),)).digest != plan.digest


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("amount", [202401 + at % 12 for at in range(40)]),
        ("amount", [20240301] * 20 + [20240302] * 20),
        ("order_id", [20240301 + at % 28 for at in range(40)]),
        ("amount", [20240301 + at * 7919 for at in range(40)]),
        ("created_at", [1_700_000_000 + at * 86_400 for at in range(40)]),
    ],
)
def test_other_numbers_are_not_taken_for_compact_dates(name: str, values: list[int]) -> None:
    plan = fit(values, name)
    assert all(not column.compact for column in plan.columns)


def test_numbers_of_a_column_whose_name_says_nothing_are_dates_if_all_of_them_are() -> None:
    assert fit([int(f"{day:%Y%m%d}") for day in DAYS], "sold").columns[0].compact == "YYYYMMDD"


def test_seconds_that_all_fall_into_1970_are_noted() -> None:
    said = "`sold_date` is read as seconds since 1970, and all of its numbers fall into that year"
    assert said in "".join(notes_of(fit([at * 1000 for at in range(40)], kind="datetime")))
    assert "1970" not in "".join(notes_of(fit([1_700_000_000 + at for at in range(40)], kind="datetime")))
    assert "1970" not in "".join(notes_of(fit([f"1970-01-{1 + at % 28:02d}" for at in range(40)], kind="datetime")))


@pytest.mark.parametrize(
    ("values", "right", "wrong"),
    [
        ([f"{day:%Y%m%d}" for day in DAYS], ["20240301", 20240301, "2024-03-01"], 20241301),
        ([f"{day:%d/%m/%Y}" for day in DAYS], ["31/12/2024", "2024-03-01"], "12/31/2024"),
    ],
)
def test_a_server_reads_dates_as_the_column_writes_them(values: list[str], right: list[Any], wrong: object) -> None:
    spec = ColumnSpec("sold_date", is_required=False, **_known_of(fit(values).columns[0]))
    assert not from_values(right, spec).faults
    assert "is not a date or time" in from_values([wrong], spec).faults[0]


def test_a_default_is_written_as_the_column_is() -> None:
    plan = fit([f"{day:%Y%m%d}" for day in DAYS], kind="datetime", default="20240229")
    assert take_part(parse_compact(pa.array([20240229.0]).to_numpy(), "YYYYMMDD"), "day").tolist() == [29.0]
    assert plan.columns[0].fill == datetime(2024, 2, 29, tzinfo=UTC).timestamp()


def test_a_few_numbers_that_are_no_dates_do_not_hide_the_others() -> None:
    numbers = pa.array([int(f"{day:%Y%m%d}") for day in DAYS] + [99999999]).cast(pa.float64()).to_numpy()
    assert find_compact_form(numbers) == "YYYYMMDD"
