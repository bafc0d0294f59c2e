"""Columns beside a text: what may be stated of them, what is learned of them, and what rows must bring."""

from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from burnish.data.codecs.columns import describe_columns
from burnish.data.truncation import Head, Windows
from burnish.errors import ConfigError, DataError
from burnish.spec.values import RandomKey, RowOrigins, Rows
from burnish.tasks.tabular.plan import MISSING_ID, UNSEEN_ID, TablePlan
from burnish.tasks.text_and_columns import TextAndColumns
from burnish.tasks.text_and_columns.encoder import BesideEncoder

TABLE = pa.table(
    {
        "text": ["a", "b", "c", "d"],
        "price": [1.0, None, 3.0, 5.0],
        "place": ["town", "coast", "town", "coast"],
        "label": ["yes", "no", "yes", "no"],
    }
)


def rows(table: pa.Table = TABLE) -> Rows:
    return Rows(table, RowOrigins(("rows.csv",), np.zeros(len(table), int), np.arange(len(table)), (2,)))


def task(**options: object) -> TextAndColumns:
    return TextAndColumns(truncation=Head(), **{"columns": ["price", "place"], **options})


class Windowed:
    """Cut every text into two features."""

    key: ClassVar[dict[str, str]] = {"text": "windowed"}

    def faults(self, rows: Rows) -> list:
        return []

    def encode(self, table: pa.Table) -> pa.Table:
        each = np.repeat(np.arange(len(table)), 2)
        return pa.table({"row": each, "length": np.ones(len(each), np.int32)})

    def collate(self, features: pa.Table, indices: np.ndarray, draw: RandomKey) -> dict:
        return {"row": features["row"].to_numpy()[indices]}


def test_names_alone_are_columns_to_look_at() -> None:
    assert task() == task(columns={"price": {}, "place": {}})
    assert task().input_columns == ("text", "price", "place")
    assert task(pair="more", columns={"price": "number", "place": "drop"}).input_columns == ("text", "more", "price")


@pytest.mark.parametrize("columns", [["text"], {"label": "category"}, [], {"price": {"kind": "colour"}}])
def test_columns_that_cannot_be_are_refused(columns: object) -> None:
    with pytest.raises(ValidationError):
        task(columns=columns)


def test_the_plan_is_learned_from_the_training_rows_and_travels_in_the_profile() -> None:
    profile = task().profile(rows())
    plan = TablePlan.from_json(profile.facts["columns"])
    assert (profile.kind, profile.labels) == ("binary", ("no", "yes"))
    assert {column.name: column.kind for column in plan.columns} == {"price": "number", "place": "category"}
    assert next(column for column in plan.columns if column.name == "price").fill == 3.0
    head = task(hidden=(8,)).head(profile)
    assert head.inputs is not None
    assert (head.kind, head.size, head.inputs.numbers) == ("text_and_columns", 2, ("price", "price is missing"))
    assert head.inputs.wide_size == 0
    assert head.options["hidden"] == [8]


def test_columns_of_one_value_are_left_out_and_none_at_all_is_refused() -> None:
    with pytest.raises(DataError, match="no column is left in addition to the text: `place`"):
        task(columns=["place"]).profile(rows(TABLE.set_column(2, "place", pa.array(["town"] * 4))))


def test_every_window_of_a_text_has_the_columns_of_its_row() -> None:
    profile = task().profile(rows())
    encoder = BesideEncoder(Windowed(), TablePlan.from_json(profile.facts["columns"]))
    odd = pa.table({"text": ["x", "y"], "price": [None, 5.0], "place": ["moon", None]})
    batch = encoder.collate(encoder.encode(odd), np.array([3, 0, 1]), RandomKey(0, 0, is_training=False))
    assert batch["row"].tolist() == [1, 0, 0]
    assert batch["categories"].tolist() == [[MISSING_ID], [UNSEEN_ID], [UNSEEN_ID]]
    assert (batch["numbers"].dtype, batch["categories"].dtype) == (np.float32, np.int64)
    assert batch["numbers"][:, 1].tolist() == [0.0, 1.0, 1.0]  # whether it is missing
    assert batch["numbers"][1].tolist() == batch["numbers"][2].tolist()


def test_a_cell_that_is_no_number_is_told_by_row() -> None:
    profile = task(columns={"price": "number"}).profile(rows())
    encoder = BesideEncoder(Windowed(), TablePlan.from_json(profile.facts["columns"]))
    odd = pa.table({"text": ["x", "y"], "price": ["1", "dear"]})
    assert [fault.row for fault in encoder.faults(rows(odd))] == [1]
    with pytest.raises(DataError, match="row 2, column price: 'dear' is no number"):
        encoder.encode(odd)


def test_the_plan_is_part_of_the_key() -> None:
    plans = [TablePlan.from_json(task(min_count=n).profile(rows()).facts["columns"]) for n in (1, 2, 3)]
    keys = [BesideEncoder(Windowed(), plan).key for plan in plans]
    assert keys[0] == keys[1] != keys[2]


def test_rows_need_their_text_and_take_defaults_for_the_rest() -> None:
    profile = task().profile(rows())
    assert task().reads_rows
    table = task().table([{"text": "fine"}, {"text": "dull", "price": 2}], profile)
    assert table["price"].to_pylist() == [None, "2"]
    with pytest.raises(DataError, match="row 2, text is empty"):
        task().table([{"text": "fine"}, {"price": 2}], profile)


def test_a_serving_format_is_told_what_must_be_given() -> None:
    specs = describe_columns(task(), task().profile(rows()))
    assert [(each.name, each.kind, each.must_be_given) for each in specs] == [
        ("text", "text", True),
        ("price", "number", False),
        ("place", "text", False),
    ]


def test_rows_without_names_have_the_columns_of_the_file_but_not_the_label() -> None:
    turned = TABLE.select(["place", "label", "price", "text"]).append_column("id", [["1", "2", "3", "4"]])
    specs = describe_columns(task(), task().profile(rows(turned)))
    assert [(each.name, each.is_read) for each in specs] == [
        ("place", True),
        ("price", True),
        ("text", True),
        ("id", False),
    ]


def test_windows_over_long_texts_are_allowed() -> None:
    assert TextAndColumns(truncation=Windows(), columns=["price"]).num_views == 1


def test_a_model_without_a_tokenizer_is_refused() -> None:
    with pytest.raises(ConfigError, match="model needs a tokenizer"):
        task().encoder(task().profile(rows()), SimpleNamespace(max_positions=None))


def with_subjects(*, num_distinct: int) -> pa.Table:
    return pa.table(
        {
            "text": [f"number {row} came back" for row in range(60)],
            "subject": [f"it is broken since day {row % num_distinct}" for row in range(60)],
            "place": ["town", "coast", "lake"] * 20,
            "label": ["yes", "no"] * 30,
        }
    )


@pytest.mark.parametrize(("num_distinct", "use"), [(60, "not used"), (20, "taken as a category")])
def test_a_column_of_sentences_becomes_no_category_in_silence(num_distinct: int, use: str) -> None:
    profile = task(columns=["place", "subject"]).profile(rows(with_subjects(num_distinct=num_distinct)))
    assert profile.facts["notes"][-1] == (
        f"subject holds text of about 6 words and is {use}; to read it as text, take it out of task.columns and set "
        "task.text: [text, subject]"
    )


def test_sentences_alone_are_refused_with_where_they_belong() -> None:
    with pytest.raises(
        DataError, match=r"no column is left in addition to the text: .* set task.text: \[text, subject\]"
    ):
        task(columns=["subject"]).profile(rows(with_subjects(num_distinct=60)))


def test_sentences_that_are_few_or_stated_are_categories() -> None:
    table = with_subjects(num_distinct=4)
    assert task(columns=["place", "subject"]).profile(rows(table)).facts["notes"] == []
    stated = {"place": "category", "subject": "category"}
    assert task(columns=stated).profile(rows(with_subjects(num_distinct=20))).facts["notes"] == []
