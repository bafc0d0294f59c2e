"""Numbers are read as people write them: with currency signs, thousands separators and decimal commas."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.cache.spill import LARGE_BYTES
from burnish.data.columns.parse_columns import parse_numbers, write_points
from burnish.data.files import Files
from burnish.data.inspection.inspect import inspect_file
from burnish.data.readers.read import read_file
from burnish.errors import DataError
from tests.data_request import Asked


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("$1,234.50", 1234.5),
        ("€ 12", 12),
        ("12 €", 12),
        ("12\u00a0€", 12),
        ("£3.20", 3.2),
        ("-$5", -5),
        ("$-5", -5),
        ("1,234", 1234),
        ("1,234,567.8", 1234567.8),
        ("1'234.50", 1234.5),
        ("12%", 12),
        ("12.5 %", 12.5),
        ("USD 1,000", 1000),
        ("1,000 EUR", 1000),
        ("$1e3", 1000),
    ],
)
def test_a_number_with_its_signs_is_a_number(written: str, number: float) -> None:
    read = parse_numbers(pa.array([written, "1.5"]))
    assert read.values.tolist() == [number, 1.5]
    assert not read.is_wrong.any()


@pytest.mark.parametrize(
    "written", ["1,5", "12,34", "1,2345", "0,123", "$", "€", "%", "1,23,456", "$ 5 €", "5 apples", "1.234,50", "a$5"]
)
def test_what_only_looks_like_a_number_is_none(written: str) -> None:
    assert parse_numbers(pa.array([written])).is_wrong.tolist() == [True]


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("508,64", "508.64"),
        ("1.234,50", "1234.50"),
        ("1.234.567", "1234567"),
        ("1.234", "1234"),
        ("1 234,5", "1234.5"),
        ("1\u202f234,5", "1234.5"),
        ("-0,5", "-0.5"),
        ("+3,25", "+3.25"),
        ("12", "12"),
        ("007", "007"),
        ("12,50 €", "12.50 €"),
        ("€ 1.234,50", "€ 1234.50"),
        ("12,5 %", "12.5 %"),
        ("1,5e3", "1.5e3"),
        (" 7,5 ", " 7.5 "),
        ("48.13", "48.13"),
        ("01.02.2024", "01.02.2024"),
        ("Köln, Bonn", "Köln, Bonn"),
        ("1,2,3", "1,2,3"),
        ("", ""),
        (None, None),
    ],
)
def test_a_decimal_comma_becomes_a_point(written: str | None, plain: str | None) -> None:
    column = pa.chunked_array([pa.array([written], pa.string()), pa.array([], pa.string())])
    assert write_points(pa.table({"a": column}), name="a.csv")["a"].to_pylist() == [plain]


@given(st.lists(st.floats(-1e9, 1e9).map(lambda value: round(value, 3)), min_size=1))
def test_numbers_written_in_german_are_those_that_were_meant(values: list[float]) -> None:
    german = [f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in values]
    plain = write_points(pa.table({"a": pa.array(german)}), name="a.csv")["a"]
    np.testing.assert_array_equal(parse_numbers(plain).values, [float(f"{value:.2f}") for value in values])


def test_a_column_in_which_a_point_would_mean_two_things_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("lat;rent\n48.13;1,5\n48.137;2,5\n" * 1 + "48.2;3,5\n" * 20)
    with pytest.raises(DataError, match=r"a\.csv: the column `lat` holds '48\.13' .* '48\.137'"):
        Files(train=str(path), delimiter=";", decimal=",").load(Asked())


def test_decimal_commas_of_files_are_read_in_every_way_of_reading(tmp_path: Path) -> None:
    rows = ["1.234,50;x"] * (LARGE_BYTES // 11 + 50)
    contents = {"fast": "a;b\n1,5;x\n" * 1, "exact": 'a;b\n\n1,5;x\n"1,5";x\n', "large": "\n".join(["a;b", *rows])}
    for name, content in contents.items():
        (tmp_path / f"{name}.csv").write_text(content)
        like = Files(train="b.csv", delimiter=";", decimal=",")
        found = set(read_file(str(tmp_path / f"{name}.csv"), columns=("a", "b"), like=like).table["a"].to_pylist())
        assert found == ({"1234.50"} if name == "large" else {"1.5"})


def test_a_file_without_header_is_predicted_in_the_dialect_of_training(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1.000,5;x\n2,5;y\n")
    like = Files(train="b.csv", delimiter=";", decimal=",", header=False, columns=("a", "b"))
    assert read_file(str(tmp_path / "a.csv"), columns=("a",), like=like).table["a"].to_pylist() == ["1000.5", "2.5"]


def test_a_file_with_points_is_predicted_though_training_files_had_commas(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a;b\n48.13;x\n48.137;y\n")
    like = Files(train="b.csv", delimiter=";", decimal=",")
    assert read_file(str(tmp_path / "a.csv"), columns=("a",), like=like).table["a"].to_pylist() == ["48.13", "48.137"]


@pytest.mark.parametrize(
    ("content", "decimal"),
    [
        ("a;b\n1,5;x\n2,25;y\n", ","),
        ("a;b\n1.234,50 €;x\n2,25 €;y\n", ","),
        ("a;b\n1,234;x\n2,345;y\n", ","),
        ('a,b\n"1,234",x\n"2,345",y\n', "."),
        ('a,b\n"1,5",x\n"2,25",y\n', ","),
        ('a,b\n"$1,234.50",x\n"$2,345.00",y\n', "."),
        ("a;b\n1.5;x\n2.25;y\n", "."),
        ("a;b\n1,5;2.75\n2,25;1.5\n", "."),
        ("a;b\n1;x\n2;y\n", "."),
        ("a;b\nx, y;x\ny, z;y\n", "."),
    ],
)
def test_looking_at_a_file_finds_its_decimal_mark(tmp_path: Path, content: str, decimal: str) -> None:
    (tmp_path / "a.csv").write_text(content)
    assert inspect_file(str(tmp_path / "a.csv")).options.decimal == decimal
