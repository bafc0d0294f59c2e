"""What is said of columns and cells that a table to predict lacks."""

import numpy as np
import pyarrow as pa

from burnish.data.rows import from_file
from burnish.spec.values import Rows
from burnish.tasks.tabular import Tabular
from burnish.tasks.tabular.encoder import TableEncoder
from burnish.tasks.tabular.options import Derived


def encoder(**derived: str) -> TableEncoder:
    generator = np.random.default_rng(0)
    columns = {
        "miles": [f"{value:.3f}" for value in generator.uniform(1, 9, 200)],
        "hours": [f"{value:.3f}" for value in generator.uniform(1, 9, 200)],
        "pay": [str(each) for each in generator.choice(["Card", "Cash"], 200)],
        "night": [str(each) for each in generator.choice(["yes", "no"], 200)],
        "late": [str(each) for each in generator.choice(["0", "1"], 200)],
    }
    dropped = {"hours": "drop", "miles": "drop"} if derived else {}
    task = Tabular.model_validate(
        {
            "target": "late",
            "derived": {name: Derived(expression=written) for name, written in derived.items()},
            "columns": {name: {"kind": kind} for name, kind in dropped.items()},
        }
    )
    made = task.encoder(task.profile(rows(**columns)), None)  # type: ignore[arg-type]  # no assets needed
    assert isinstance(made, TableEncoder)
    return made


def rows(**columns: list[str]) -> Rows:
    return from_file(pa.table(columns), name="new.csv", first_line=2)


FULL = {"miles": ["1.5", "2"], "hours": ["3", "4"], "pay": ["Card", "Cash"], "night": ["yes", "no"]}


def test_nothing_is_said_of_whole_rows() -> None:
    assert encoder().notes(rows(**FULL)) == []


def test_absent_columns_are_reported_once_each_kind() -> None:
    assert encoder().notes(rows(pay=FULL["pay"], night=FULL["night"], miles=FULL["miles"])) == [
        "`hours` is not in new.csv; its median is used in all 2 rows"
    ]
    assert encoder().notes(rows(pay=["Card"])) == [
        "`hours` and `miles` are not in new.csv; their medians are used in its only row",
        "`night` is not in new.csv; it counts as missing in its only row",
    ]


def test_cells_that_cannot_be_read_are_counted_with_the_first() -> None:
    many = {name: values * 50 for name, values in FULL.items()}
    many["miles"][16] = "far"
    assert encoder().notes(rows(**many)) == [
        "a cell of `miles` cannot be read and counts as missing, first 'far' at new.csv:18"
    ]
    many["miles"][60] = "1,5"
    assert encoder().notes(rows(**many)) == [
        "2 cells of `miles` cannot be read and count as missing, first 'far' at new.csv:18"
    ]


def test_cells_and_columns_that_others_are_computed_from_are_seen_too() -> None:
    speed = encoder(speed="miles / hours")
    assert speed.notes(rows(**FULL)) == []
    assert speed.notes(rows(**{**FULL, "miles": ["x", "2"]})) == [
        "a cell of `miles` cannot be read and counts as missing, first 'x' at new.csv:2"
    ]
    without = {name: values for name, values in FULL.items() if name != "hours"}
    assert speed.notes(rows(**without)) == [
        "`hours` is not in new.csv; what is computed from it is missing in all 2 rows"
    ]
