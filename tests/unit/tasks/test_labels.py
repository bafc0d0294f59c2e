"""Labels as people write them."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.errors import DataError
from burnish.tasks.labels import LabelColumns

ONE = LabelColumns(("label",))


def column(*values: object) -> pa.Table:
    return pa.table({"label": list(values)})


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (("0", "1", "1"), "binary"),
        (("neg", "pos"), "binary"),
        (("a", "b", "c"), "multiclass"),
        (tuple(str(n) for n in range(15)), "multiclass"),
        (tuple(str(n) for n in range(25)), "regression"),
        (("0.5", "1.25", "3"), "regression"),
        ((0.0, 2.5), "regression"),
        ((True, False), "binary"),
        ((["a", "b"], ["b"]), "multilabel"),
        ((*(str(n) for n in range(40)), *(str(n) for n in range(40)), "NA"), "regression"),
        ((*(str(n) for n in range(40)), "", "?", "nan", None), "regression"),
        ((*(str(n) for n in range(99)), "unknown"), "regression"),
        ((*(str(n) for n in range(90)), *(f"x{n}" for n in range(10))), "multiclass"),
        (("0", "1", "1", "NA", ""), "binary"),
        (("1", "2", "3", "other"), "multiclass"),
    ],
)
def test_the_kind_is_guessed_from_the_values(values: tuple[object, ...], kind: str) -> None:
    assert ONE.guess_kind(column(*values)) == kind


def test_classes_that_are_numbers_are_ordered_by_value() -> None:
    assert ONE.classes(column("10", "9", "-1", "9")) == ("-1", "9", "10")
    assert ONE.classes(column("b", "a")) == ("a", "b")


@pytest.mark.parametrize(
    "written",
    [("-1", "+1"), ("-1.0", "1.0"), ("-2e3", "-1.5", "+0", "7", "1e1"), ("0", "12345678901234567890", "1e20")],
)
def test_numbers_however_they_are_written_are_ordered_by_value(written: tuple[str, ...]) -> None:
    assert ONE.classes(column(*reversed(written))) == written


@given(st.lists(st.decimals(-1000, 1000, places=2), min_size=1, unique=True))
def test_the_order_of_numeric_classes_is_that_of_their_values(values: list[Decimal]) -> None:
    classes = ONE.classes(column(*(f"{value:+}" for value in values)))
    assert [Decimal(name) for name in classes] == sorted(values)


@pytest.mark.parametrize("odd", ["①", "--1", "+", "1,5", "1e", "\u0661"])
def test_what_is_no_plain_number_is_ordered_as_words(odd: str) -> None:
    assert ONE.classes(column("9", odd, "10")) == tuple(sorted(["9", odd, "10"]))


def test_labels_in_lists_are_trimmed_as_those_in_cells_are() -> None:
    table = pa.table({"label": pa.array([[" drama", "war "], None, ["war"]], pa.list_(pa.string()))})
    assert ONE.classes(table) == ("drama", "war")
    assert ONE.counts(table, ("drama", "war")) == {"drama": 1, "war": 2}
    matrix, faults = ONE.indicators(table, ("drama", "war"))
    assert matrix.tolist() == [[1, 1], [0, 0], [0, 1]]
    assert faults == []


@pytest.mark.parametrize("odd", ["①", "②", "--1", "²", "9" * 5001])
def test_classes_that_only_resemble_numbers_are_words(odd: str) -> None:
    assert set(ONE.classes(column("1", odd, "2"))) == {"1", odd, "2"}


def test_what_stands_for_a_missing_number_is_no_class_among_numbers() -> None:
    assert ONE.classes(column("1", "0", "NA", "?", "")) == ("0", "1")
    assert ONE.classes(column("EU", "NA", "none")) == ("EU", "NA", "none")
    assert [fault.row for fault in ONE.class_indices(column("1", "NA"), ("0", "1"))[1]] == [1]


def test_the_range_is_that_of_the_labels_that_are_numbers() -> None:
    assert ONE.range(column("4", "NA", "6")) == {"lowest": 4.0, "highest": 6.0, "mean": 5.0}


def test_a_label_outside_the_classes_is_named() -> None:
    indices, faults = ONE.class_indices(column("pos", "maybe", " neg ", None), ("neg", "pos"))
    assert indices.tolist()[::2] == [1, 0]
    assert [(fault.row, fault.what) for fault in faults] == [
        (1, "label 'maybe' is not one of neg, pos"),
        (3, "the label is empty"),
    ]


def test_a_label_that_is_no_number_is_named() -> None:
    values, faults = ONE.numbers(column("1.5", "high", "2"))
    assert values.tolist() == [1.5, 0.0, 2.0]
    assert [(fault.row, fault.what) for fault in faults] == [(1, "label 'high' is not a number")]


def test_joined_labels_become_indicators() -> None:
    labels = LabelColumns(("label",), ";")
    table = column("war; drama", "", "drama", "comedy;")
    assert labels.classes(table) == ("comedy", "drama", "war")
    matrix, faults = labels.indicators(table, ("comedy", "drama", "war"))
    assert matrix.tolist() == [[0, 1, 1], [0, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert faults == []


def test_columns_of_yes_and_no_become_indicators() -> None:
    labels = LabelColumns(("toxic", "rude"))
    table = pa.table({"toxic": ["1", "0", "maybe"], "rude": [True, False, True]})
    matrix, faults = labels.indicators(table, labels.classes(table))
    assert matrix.tolist() == [[1, 1], [0, 0], [0, 1]]
    assert [(fault.row, fault.what) for fault in faults] == [(2, "column toxic must hold 0 or 1")]
    assert labels.counts(table, labels.names) == {"toxic": 1, "rude": 2}


@given(st.lists(st.lists(st.sampled_from("abcd"), unique=True), min_size=1))
def test_lists_and_joined_texts_say_the_same(rows: list[list[str]]) -> None:
    classes = ("a", "b", "c", "d")
    lists, _ = ONE.indicators(pa.table({"label": pa.array(rows, pa.list_(pa.string()))}), classes)
    joined, _ = LabelColumns(("label",), ";").indicators(column(*[";".join(row) for row in rows]), classes)
    expected = np.array([[name in row for name in classes] for row in rows], float)
    assert np.array_equal(lists, expected)
    assert np.array_equal(joined, expected)


def test_a_number_too_large_to_be_squared_is_a_bad_label() -> None:
    values, faults = ONE.numbers(column("1", "1e200", "-1.7e308", "1e149"))
    assert [fault.row for fault in faults] == [1, 2]
    assert faults[0].what == "label '1e200' is too large to be learned; at most 1e+150 is allowed"
    assert values[[0, 3]].tolist() == [1.0, 1e149]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (("low", "high", "medium", "low", ""), ("(high, low, medium)", "set task.kind: multiclass")),
        (("yes", "no", "n/a", "yes"), ("(no, yes)", "set task.kind: binary")),
        (("a", "b", "c", "d", "e", "f", "1", None), ("(a, b, c, d, e, …)", "set task.kind: multiclass")),
        (tuple(f"{n}u" for n in range(900, 1300)), ("(1000u, 1001u, 1002u, 1003u, 1004u, …)",
                                                   "write its values as plain numbers, like 1234.5")),
        (("1,5", "2,25", "1,75"), ("(1,5, 1,75, 2,25)", "if its commas are decimal marks, set data.decimal: ','")),
    ],
)  # fmt: skip
def test_words_are_refused_as_numbers_in_one_sentence(values: tuple[object, ...], said: tuple[str, str]) -> None:
    with pytest.raises(DataError) as refused:
        ONE.refuse_words(column(*values))
    words, remedy = said
    assert str(refused.value) == f"column label holds words {words}, so it cannot be learned as a number; {remedy}"


@pytest.mark.parametrize("values", [("1", "2.5", "x"), ("1", "NA", "NA", "NA"), ("", None), (1.0, 2.0)])
def test_numbers_with_some_words_among_them_are_left_to_the_rows(values: tuple[object, ...]) -> None:
    ONE.refuse_words(column(*values))


def test_prices_are_numbers_and_others_are_told_with_the_option_that_may_read_them() -> None:
    column = LabelColumns(("y",))
    table = pa.table({"y": ["$1,234.50", "12 €", "508,64", "x", None]})
    values, faults = column.numbers(table)
    assert values[:2].tolist() == [1234.5, 12.0]
    assert [fault.row for fault in faults] == [2, 3, 4]
    assert faults[0].what == "label '508,64' is not a number; if its comma is a decimal mark, set data.decimal: ','"
    assert faults[1].what == "label 'x' is not a number"
    assert column.guess_kind(pa.table({"y": [f"${row}.50" for row in range(50)]})) == "regression"


@pytest.mark.parametrize("values", [[b"\xff", b""], [{"k": 1}, None], [[{"k": 1}], []], [[b"\xff"], None]], ids=str)
def test_labels_that_are_no_words_are_refused(values: list[object]) -> None:
    table = pa.table({"mood": values})
    with pytest.raises(DataError, match=r"the column `mood` holds .*, and a label is a single word or number"):
        LabelColumns(("mood",)).classes(table)


@pytest.mark.parametrize("odd", ["1_000", "①", "\uff12", "--1", "0x1F", "1,5", "infinity"])
def test_what_only_looks_like_a_number_to_python_is_a_class(odd: str) -> None:
    assert odd in ONE.classes(column("1", "2", odd))
    assert [fault.row for fault in ONE.numbers(column("1.5", odd))[1]] == [1]
