"""A table is encoded by what the training rows taught, whatever the order, the chunks and the types of its cells."""

import json
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.data.codecs.columns import describe_columns
from burnish.data.codecs.formats import decode
from burnish.errors import ConfigError, DataError
from burnish.spec.values import Profile, RandomKey, RowOrigins, Rows
from burnish.tasks.tabular import Tabular
from burnish.tasks.tabular.plan import TablePlan

DRAW = RandomKey(seed=0, epoch=0, is_training=False)


def rows_of(table: pa.Table) -> Rows:
    return Rows(table, RowOrigins(("t.csv",), np.zeros(len(table), np.int32), np.arange(len(table)), (2,)))


def trips(num_rows: int = 60) -> pa.Table:
    random = np.random.default_rng(0)
    miles = random.gamma(2, 2, num_rows).round(2)
    return pa.table(
        {
            "trip_id": [str(1000 + at) for at in range(num_rows)],
            "miles": ["" if at % 11 == 5 else str(value) for at, value in enumerate(miles)],
            "pay": [("Cash", "Card", "Dispute", "?")[at % 4] for at in range(num_rows)],
            "night": [("yes", "no")[at % 2] for at in range(num_rows)],
            "begin": [f"2024-03-{1 + at % 28:02d} {at % 24:02d}:15:00" for at in range(num_rows)],
            "city": ["Chicago"] * num_rows,
            "said": [f"it was a rather long ride number {at} today" for at in range(num_rows)],
            "pickup_area": [str(at % 7) for at in range(num_rows)],
            "tip": [str(int(value > 4)) for value in miles],
        }
    )


def profiled(table: pa.Table, **options: Any) -> tuple[Tabular, Profile]:
    task = Tabular.model_validate({"target": "tip", **options})
    profile = task.profile(rows_of(table))
    read_back = json.loads(json.dumps(asdict(profile)))  # as an artifact gives it back
    return task, Profile(read_back["kind"], tuple(read_back["labels"]), read_back["facts"], tuple(read_back["inputs"]))


def batch_of(task: Tabular, profile: Profile, table: pa.Table) -> dict[str, Any]:
    encoder = task.encoder(profile, None)
    features = encoder.encode(table)
    return dict(encoder.collate(features, np.arange(len(features)), DRAW))


def same(first: dict[str, Any], second: dict[str, Any], *, but: tuple[str, ...] = ()) -> None:
    assert set(first) - set(but) == set(second) - set(but)
    for name in set(first) - set(but):
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def test_kinds_are_found_by_looking() -> None:
    _, profile = profiled(trips())
    plan = TablePlan.from_json(profile.facts["table"])
    assert {column.name: column.kind for column in plan.columns} == {
        "miles": "number",
        "pay": "category",
        "night": "boolean",
        "begin": "datetime",
        "pickup_area": "category",
    }
    assert set(plan.dropped) == {"trip_id", "city", "said"}
    assert profile.kind == "binary"
    assert profile.labels == ("0", "1")
    assert profile.inputs == ("begin", "miles", "night", "pay", "pickup_area")


def test_batches_hold_what_the_head_promises() -> None:
    task, profile = profiled(trips(), crosses=[["pay", "pickup_area"]], columns={"miles": {"boundaries": [1, 5]}})
    batch = batch_of(task, profile, trips())
    inputs = task.head(profile).inputs
    assert inputs is not None
    assert batch["row"].tolist() == list(range(60))
    assert batch["label"].tolist() == [int(cell) for cell in trips()["tip"].to_pylist()]
    assert batch["numbers"].shape == (60, len(inputs.numbers))
    assert batch["numbers"].dtype == np.float32
    assert np.isfinite(batch["numbers"]).all()
    assert batch["categories"].dtype == batch["wide"].dtype == np.int64
    assert (batch["categories"] < np.array(inputs.cardinalities)).all()
    assert batch["wide"].min() >= 1
    assert batch["wide"].max() < inputs.wide_size
    assert all(list(edges) == sorted(set(edges)) and len(edges) >= 2 for edges in inputs.edges)


def test_statistics_are_numpys() -> None:
    _, profile = profiled(trips(), normalise="zscore")
    plan = TablePlan.from_json(profile.facts["table"])
    values = np.array([float(cell) for cell in trips()["miles"].to_pylist() if cell])
    facts = next(column.facts for column in plan.columns if column.name == "miles")
    assert facts["mean"] == pytest.approx(values.mean())
    assert facts["std"] == pytest.approx(values.std())
    assert facts["median"] == pytest.approx(np.median(values))
    assert facts["missing"] == 60 - len(values)
    scaling = next(number.scaling for number in plan.numbers if number.name == "miles")
    assert (scaling.centre, scaling.spread) == pytest.approx((values.mean(), values.std()))


def _but_order(profile: Profile) -> Profile:
    return replace(profile, facts={name: fact for name, fact in profile.facts.items() if name != "order"})


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 60), st.sampled_from(["quantile", "zscore", "robust", "log"]))
def test_order_chunks_and_column_order_do_not_show(random: Any, cut: int, normalise: str) -> None:
    table = trips()
    order = list(range(60))
    random.shuffle(order)
    names = list(table.column_names)
    random.shuffle(names)
    shuffled = table.take(order).select(names)
    chunked = pa.concat_tables([shuffled.slice(0, cut), shuffled.slice(cut)])
    task, first = profiled(table, normalise=normalise, crosses=[["pay", "night"]])
    _, second = profiled(chunked, normalise=normalise, crosses=[["pay", "night"]])
    assert _but_order(first) == _but_order(second)
    assert second.facts["order"] == [name for name in names if name != "tip"]
    straight = batch_of(task, first, table)
    turned = batch_of(task, second, chunked)
    same({name: values[order] for name, values in straight.items()}, turned, but=("row",))


CELLS = st.one_of(
    st.none(),
    st.text(max_size=6),
    st.integers(),
    st.floats(),
    st.sampled_from(["Cash", "?", "yes", "2024-01-01", "inf", "nan"]),
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(dict.fromkeys(("miles", "pay", "night", "begin", "pickup_area"), CELLS)),
        min_size=1,
        max_size=5,
    )
)
def test_any_row_is_encoded_or_refused_and_one_row_is_as_good_as_many(rows: list[dict[str, Any]]) -> None:
    task, profile = profiled(trips(), crosses=[["pay", "pickup_area"]])
    try:
        table = task.table(rows, profile)
    except DataError:
        return
    together = batch_of(task, profile, table)
    assert np.isfinite(together["numbers"]).all()
    for at, row in enumerate(rows):
        alone = batch_of(task, profile, task.table([row], profile))
        same({name: values[at : at + 1] for name, values in together.items()}, alone, but=("row",))


def test_types_of_cells_do_not_show() -> None:
    task, profile = profiled(trips())
    written = task.table([{"miles": "3", "pay": "Cash", "night": "yes", "pickup_area": "4"}], profile)
    typed = task.table([{"miles": 3, "pay": "Cash", "night": True, "pickup_area": 4.0}], profile)
    same(batch_of(task, profile, written), batch_of(task, profile, typed))


def test_missing_and_unseen_have_ids_of_their_own() -> None:
    task, profile = profiled(trips())
    batch = batch_of(
        task, profile, task.table([{"pay": None, "miles": 1}, {"pay": "Bitcoin"}, {"pay": "Cash"}], profile)
    )
    pay = task.head(profile).inputs.categories.index("pay")
    assert batch["categories"][:, pay].tolist()[:2] == [0, 1]
    assert batch["categories"][2, pay] >= 2


def test_defaults_stand_in_for_what_is_missing() -> None:
    columns = {"pay": {"kind": "category", "default": "Cash"}, "miles": {"kind": "number", "default": "2.5"}}
    task, profile = profiled(trips(), columns=columns)
    given_ = batch_of(task, profile, task.table([{"pay": "Cash", "miles": 2.5, "night": "no"}], profile))
    left_out = batch_of(task, profile, task.table([{"night": "no"}], profile))
    same(given_, left_out, but=("numbers",))
    value = task.head(profile).inputs.numbers.index("miles")
    assert given_["numbers"][0, value] == left_out["numbers"][0, value]


def test_wrong_cells_are_named_by_row_and_column() -> None:
    task, profile = profiled(trips())
    with pytest.raises(DataError) as refusal:
        task.table([{"miles": 1}, {"pay": "Cash"}, {"miles": "abc", "night": "perhaps"}], profile)
    assert "row 3, column miles: 'abc' is no number" in str(refusal.value)
    assert "row 3, column night: 'perhaps' is neither yes nor no" in str(refusal.value)
    assert "an empty cell or null is a missing value" in str(refusal.value)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"mile": 3}, "none of the model's columns"),
        ({"mils": 3, "pay": "Cash"}, "Did you mean `miles`?"),
        ({"miles": [1, 2]}, "one value is needed"),
        ([1, 2], "a mapping from column to value is needed"),
    ],
)
def test_rows_of_another_shape_are_refused(row: Any, words: str) -> None:
    task, profile = profiled(trips())
    with pytest.raises(DataError, match="cannot be read") as refusal:
        task.table([row], profile)
    assert words in str(refusal.value)


def test_everything_can_be_stated() -> None:
    columns = {
        "miles": {"mean": 2, "variance": 4, "boundaries": [1, 2]},
        "pay": {"vocabulary": ["Cash", "Card"]},
        "pickup_area": {"kind": "identity", "size": 5},
        "trip_id": {"kind": "hash", "buckets": 10},
        "night": "drop",
        "begin": {"kind": "datetime", "parts": ["hour", "year"], "cyclic": False},
    }
    task, profile = profiled(trips(), columns=columns, others="drop")
    inputs = task.head(profile).inputs
    assert inputs.numbers == ("begin hour", "begin year", "miles", "miles is missing")
    assert dict(zip(inputs.categories, inputs.cardinalities, strict=True)) == {
        "pay": 4,
        "pickup_area": 7,
        "trip_id": 12,
    }
    batch = batch_of(task, profile, task.table([{"miles": 6, "pay": "Dispute", "pickup_area": 6}], profile))
    assert batch["numbers"][0, 2] == 2.0
    assert batch["categories"][0].tolist() == [1, 1, 0]


def test_a_derived_target_hides_what_it_is_made_of() -> None:
    table = trips().drop_columns(["tip"]).append_column("tips", pa.array([str(at % 5) for at in range(60)]))
    task, profile = profiled(table, target="big", derived={"big": "tips / fill(miles, 1) >= 0.2"})
    assert profile.labels == ("0", "1")
    assert "tips" not in profile.inputs
    assert "miles" not in profile.inputs  # unless it is stated
    _, stated = profiled(
        table, target="big", derived={"big": "tips / fill(miles, 1) >= 0.2"}, columns={"miles": "number"}
    )
    assert "miles" in stated.inputs
    assert "label" in batch_of(task, profile, table)
    assert "label" not in batch_of(task, profile, task.table([{"pay": "Cash"}], profile))


def doubled(miles: np.ndarray, pay: np.ndarray) -> np.ndarray:
    return miles * np.where(pay == "Cash", 2.0, 1.0)


def test_a_function_of_the_users_is_a_column_too() -> None:
    derived = {"twice": {"function": f"{__name__}:doubled", "inputs": {"miles": "number", "pay": "text"}}}
    task, profile = profiled(trips(), derived=derived, normalise="none")
    batch = batch_of(task, profile, task.table([{"miles": 3, "pay": "Cash"}], profile))
    assert batch["numbers"][0, task.head(profile).inputs.numbers.index("twice")] == 6.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"crosses": [["pay", "miles"]]}, "give it `boundaries`"),
        ({"crosses": [["pay", "city"]]}, "not among the columns used"),
        ({"columns": {"miles": {"kind": "number", "default": "many"}}}, "must be a number, got 'many'"),
        ({"loss": "poisson"}, "task.loss is poisson, and tip holds classes"),
        ({"derived": {"x": {"function": "no_such_module:f", "inputs": {"pay": "text"}}}}, "could not be loaded"),
    ],
)
def test_what_does_not_fit_the_rows_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=r".") as refusal:
        profiled(trips(), **options)
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "regression", "loss": "focal"}, "which is for classes"),
        ({"kind": "binary", "transform": "log"}, "which is for numbers"),
        ({"columns": {"tip": "number"}}, "names the target"),
        ({"columns": {"a": {"kind": "category", "size": 3}}}, "belongs to a identity"),
        ({"columns": {"a": {"mean": 3}}}, "together"),
        ({"columns": {"a": {"boundaries": [3, 1]}}}, "do not rise"),
        ({"derived": {"a": "b + 1", "b": "a + 1"}}, "in a circle"),
        ({"derived": {"a": "a + 1"}}, "in a circle"),
        ({"derived": {"a": "import os"}}, "is not an expression"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=r".") as refusal:
        Tabular.model_validate({"target": "tip", **options})
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    "options",
    [{}, {"transform": "log"}, {"transform": "log1p"}, {"loss": "poisson"}, {"loss": "gamma"}, {"loss": "quantile"}],
)
def test_numbers_come_back_in_their_own_unit(options: dict[str, Any]) -> None:
    table = trips().append_column("fare", pa.array([f"{3.25 + at * 0.1:.2f}" for at in range(60)]))
    task, profile = profiled(table, target="fare", **options)
    batch = batch_of(task, profile, table)
    said = np.log(batch["label"]) if options.get("loss") in ("poisson", "gamma") else batch["label"]
    outcome = task.decode({"logits": said[:, None], "row": batch["row"], "label": batch["label"]}, profile)
    fares = [float(cell) for cell in table["fare"].to_pylist()]
    assert outcome.truth.tolist() == fares
    np.testing.assert_allclose(outcome.outputs, fares)


def test_targets_that_a_loss_cannot_take_are_faults() -> None:
    table = trips().append_column("fare", pa.array(["-1", *(str(1.5 + at) for at in range(59))]))
    task, profile = profiled(table, target="fare", loss="gamma")
    faults = task.encoder(profile, None).faults(rows_of(table))
    assert [fault.row for fault in faults] == [0]
    assert "task.loss: gamma cannot take" in faults[0].what


def test_a_split_that_lacks_a_whole_column_is_refused() -> None:
    task, profile = profiled(trips())
    with pytest.raises(DataError, match="rows without the column miles, which the training rows have"):
        task.encoder(profile, None).faults(rows_of(trips().drop_columns(["miles"])))


def test_members_of_an_ensemble_are_averaged_as_probabilities() -> None:
    task, profile = profiled(trips())
    logits = np.log(np.array([[[0.9, 0.1], [0.5, 0.5]], [[0.2, 0.8], [0.4, 0.6]]]))
    outcome = task.decode({"logits": logits, "row": np.array([1, 0])}, profile)
    np.testing.assert_allclose(outcome.outputs, [[0.3, 0.7], [0.7, 0.3]])
    assert outcome.decisions.tolist() == [1, 0]


def test_weights_ride_along() -> None:
    table = trips().append_column("w", pa.array([str(at % 3) for at in range(60)]))
    task, profile = profiled(table, weight="w")
    assert batch_of(task, profile, table)["weight"].tolist() == [at % 3 for at in range(60)]
    assert "w" not in profile.inputs
    outputs = {"row": np.arange(60), "logits": np.zeros((60, 2)), "weight": batch_of(task, profile, table)["weight"]}
    assert task.decode(outputs, profile).weights.tolist() == [at % 3 for at in range(60)]
    bad = table.set_column(table.column_names.index("w"), "w", pa.array(["-1"] * 60))
    assert len(task.encoder(profile, None).faults(rows_of(bad))) == 60


def test_a_table_without_a_usable_column_is_refused() -> None:
    table = pa.table({"tip": ["0", "1"] * 30, "one": ["x"] * 60})
    with pytest.raises(DataError, match="no column is left to learn tip from: `one`: it holds 'x' in every row"):
        profiled(table)


def test_rows_without_names_have_the_columns_of_the_file_but_not_the_target() -> None:
    task, profile = profiled(trips())
    specs = describe_columns(task, profile)
    assert [spec.name for spec in specs] == [name for name in trips().column_names if name != "tip"]
    assert [spec.name for spec in specs if not spec.is_read] == ["trip_id", "city", "said"]
    kinds = {spec.name: spec.kind for spec in specs if spec.is_read}
    assert kinds == {"miles": "number", "pay": "text", "night": "flag", "begin": "time", "pickup_area": "text"}


def test_what_a_derived_target_is_made_of_has_no_place_unless_prediction_reads_it() -> None:
    derived = {"long": "miles > 4", "speed": "miles / 2"}
    task, profile = profiled(trips(), target="long", derived=derived, columns={"tip": "drop"})
    assert "miles" in [spec.name for spec in describe_columns(task, profile)]
    task, profile = profiled(trips(), target="long", derived={"long": "miles > 4"}, columns={"tip": "drop"})
    assert "miles" not in [spec.name for spec in describe_columns(task, profile)]


def test_a_profile_of_an_older_version_has_no_order_and_says_so() -> None:
    task, profile = profiled(trips())
    specs = describe_columns(task, _but_order(profile))
    assert {spec.name for spec in specs} == set(profile.inputs)
    assert not any(spec.is_placed for spec in specs)


def ages(cell: str, *, at: int = 123, num_rows: int = 800) -> pa.Table:
    random = np.random.default_rng(1)
    age = random.integers(18, 60, num_rows)
    width = [f"{value:.3f}" for value in random.normal(5, 2, num_rows)]
    return pa.table(
        {
            "width": [*width[:at], cell, *width[at + 1 :]],
            "day": [f"2024-03-{1 + n % 28:02d}" for n in range(num_rows)],
            "town": [("A", "B", "C")[n % 3] for n in range(num_rows)],
            "tip": [str(value) for value in age],
        }
    )


def kinds_of(profile: Profile) -> dict[str, str]:
    return {column.name: column.kind for column in TablePlan.from_json(profile.facts["table"]).columns}


@pytest.mark.parametrize("cell", ["NA", "?", "", "unknown", "n.a.", "1,234,5"])
def test_one_target_that_cannot_be_read_is_a_bad_row_and_the_rest_stay_numbers(cell: str) -> None:
    clean = ages("5")
    targets = clean["tip"].to_pylist()
    table = clean.set_column(3, "tip", [[*targets[:7], cell, *targets[8:]]])
    task, profile = profiled(table)
    assert (profile.kind, profile.labels) == ("regression", ())
    faults = task.encoder(profile, None).faults(rows_of(table))
    assert [(fault.row, fault.what) for fault in faults] == [(7, f"target tip {cell!r} is not a number")]
    known = np.array([float(each) for at, each in enumerate(targets) if at != 7])
    assert (profile.facts["mean"], profile.facts["lowest"]) == (pytest.approx(known.mean()), known.min())


@pytest.mark.parametrize("cell", ["-", "n.a.", "1.234,50", "seven"])
def test_a_stray_cell_of_a_number_is_missing_and_reported(cell: str) -> None:
    table = ages(cell)
    task, profile = profiled(table)
    assert kinds_of(profile)["width"] == "number"
    assert f"cells that cannot be read, taken as missing: width 1 ({cell!r})" in profile.facts["notes"]
    encoder = task.encoder(profile, None)
    assert encoder.faults(rows_of(table)) == []
    same(batch_of(task, profile, table), batch_of(task, profile, ages("")), but=())
    plan = TablePlan.from_json(profile.facts["table"])
    assert [number.name for number in plan.numbers if number.column == "width"] == ["width", "width is missing"]


def test_stray_cells_of_times_and_flags_are_missing_too() -> None:
    table = ages("5")
    flag = pa.array([("0", "1")[n % 2] if n else "-" for n in range(800)])
    day = ["soon", *table["day"].to_pylist()[1:]]
    table = table.set_column(1, "day", [day]).append_column("flag", flag)
    task, profile = profiled(table)
    assert (kinds_of(profile)["day"], kinds_of(profile)["flag"]) == ("datetime", "boolean")
    assert "cells that cannot be read, taken as missing: day 1 ('soon'), flag 1 ('-')" in profile.facts["notes"]
    assert task.encoder(profile, None).faults(rows_of(table)) == []


def test_cells_that_a_derived_column_cannot_read_are_reported() -> None:
    """Otherwise the derived column is missing there, and nobody knows why."""
    miles = ["1.5" if row % 2 else "2.5" for row in range(200)]
    miles[7], miles[11] = "12 ells", "soon"
    derived = {"half": {"expression": "miles / 2"}, "late": {"expression": "hour(at) > 6 and miles > 2"}}
    at = ["2024-01-02T03:04" if row % 2 else "2024-01-02T09:04" for row in range(200)]
    table = pa.table({"miles": miles, "at": [*at[:-1], "noon"], "y": ["a", "b"] * 100})
    task = Tabular.model_validate(
        {"target": "y", "derived": derived, "columns": {"miles": {"kind": "drop"}, "at": {"kind": "drop"}}}
    )
    notes = task.profile(rows_of(table)).facts["notes"]
    assert (
        "cells that cannot be read, taken as missing in columns derived from them: "
        "at 1 ('noon' in t.csv:201), miles 2 ('12 ells' in t.csv:9 first)"
    ) in notes


def test_more_than_a_few_words_among_numbers_make_a_category() -> None:
    table = ages("5")
    width = [f"{n % 5}" if n % 20 else "wide" for n in range(800)]
    _, profile = profiled(table.set_column(0, "width", [width]))
    assert kinds_of(profile)["width"] == "category"


def test_a_stray_cell_outside_of_the_training_rows_is_missing_too_but_a_column_of_them_is_refused() -> None:
    task, profile = profiled(ages("5"))
    encoder = task.encoder(profile, None)
    assert encoder.faults(rows_of(ages("-"))) == []
    same(batch_of(task, profile, ages("-")), batch_of(task, profile, ages("")))
    words = ages("5").set_column(0, "width", [["wide"] * 800])
    assert len(encoder.faults(rows_of(words))) == 800
    with pytest.raises(DataError, match="row 1, column width: 'wide' is no number"):
        encoder.encode(words.select(["width", "day", "town"]))


def test_a_stated_number_and_a_row_given_by_itself_are_taken_at_their_word() -> None:
    task, profile = profiled(ages("-"), columns={"width": "number"})
    assert [fault.row for fault in task.encoder(profile, None).faults(rows_of(ages("-")))] == [123]
    task, profile = profiled(ages("-"))
    rows = ages("-").to_pylist()
    with pytest.raises(DataError, match="row 124, column width: '-' is no number"):
        task.table(rows, profile)


def test_plans_of_older_versions_forgive_nothing_and_have_the_same_key() -> None:
    task, profile = profiled(ages("5"))
    written = json.loads(json.dumps(profile.facts["table"]))
    for column in written["columns"]:
        del column["is_guessed"]
    older = replace(profile, facts={**profile.facts, "table": written})
    assert [fault.row for fault in task.encoder(older, None).faults(rows_of(ages("-")))] == [123]
    assert task.encoder(older, None).key == task.encoder(profile, None).key


@pytest.mark.parametrize(
    ("written", "sent"),
    [("7.50", 7.5), ("True", True), ("FALSE", False), ("0.10", 0.1), ("7.50", "7.5"), ("1e3", 1000), ("5.00", 5)],
)
def test_a_stated_category_is_known_however_a_program_writes_it(written: str, sent: object) -> None:
    table = ages("5").set_column(2, "town", [[written, "B"] * 400])
    task, profile = profiled(table, columns={"town": {"vocabulary": [written, "B"]}})
    known = batch_of(task, profile, table.slice(0, 1))["categories"]
    assert known.tolist() != [[1]]
    row = {"width": "5", "day": "2024-03-01", "town": sent}
    assert batch_of(task, profile, task.table([row], profile))["categories"].tolist() == known.tolist()
    decoded = decode(json.dumps([row]).encode(), describe_columns(task, profile), format="json")
    assert batch_of(task, profile, decoded.table)["categories"].tolist() == known.tolist()


def test_categories_that_are_told_apart_as_written_stay_apart() -> None:
    table = ages("5").set_column(2, "town", [["7.50", "7.5", "007", "7"] * 200])
    task, profile = profiled(table, columns={"town": "category"})
    plan = TablePlan.from_json(profile.facts["table"])
    assert next(column for column in plan.columns if column.name == "town").vocabulary == ("007", "7", "7.5", "7.50")
    ids = batch_of(task, profile, table.slice(0, 4))["categories"][:, 0]
    assert len(set(ids.tolist())) == 4
    unseen = batch_of(task, profile, table.set_column(2, "town", [["07"] * 800]).slice(0, 1))["categories"][0, 0]
    assert unseen == 1


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1, 2]] * 60),
        pa.array([{"a": 1}] * 60),
        pa.array([b"\xff"] * 60),
        pa.array([(1, 2, 3)] * 60, pa.month_day_nano_interval()),
        pa.array(range(60), pa.duration("us")),
        pa.array(range(60), pa.time64("us")),
    ],
    ids=lambda column: str(column.type),
)
def test_a_column_that_is_no_word_number_or_time_is_not_used_and_no_target(column: pa.Array) -> None:
    table = trips().append_column("odd", column)
    _, profile = profiled(table)
    assert profile.facts["table"]["dropped"]["odd"] == f"it holds {column.type}"
    if pa.types.is_duration(column.type) or pa.types.is_time(column.type):
        return  # a target may be any word
    with pytest.raises(DataError, match=r"the column `odd` holds .*, and a target is a single word or number"):
        profiled(table, target="odd")


@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        ("columns", {"kind": "\0"}, "columns.0.kind"),
        ("columns", {"size": 10**30}, "columns.0.size"),
        ("numbers", {"column": "elsewhere"}, "columns that it does not describe: elsewhere"),
        ("numbers", {"part": ["hour"]}, "numbers.0.part"),
        ("numbers", {"scaling": {"how": "quantile", "points": ["NaN"]}}, "numbers.0.scaling.points.0"),
        ("numbers", {"scaling": {"how": "quantile"}}, "scales by quantiles, and has none"),
        ("wide", {"columns": []}, "wide.0.columns"),
    ],
)
def test_a_plan_that_cannot_have_been_written_is_refused(part: str, change: dict[str, Any], said: str) -> None:
    written = Tabular(target="tip").profile(rows_of(trips())).facts["table"]
    first, *others = written[part]
    with pytest.raises(ValueError, match=said.replace(".", r"\.")):
        TablePlan.from_json({**written, part: [{**first, **change}, *others]})
