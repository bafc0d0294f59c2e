"""`new` reads files as people have them, and reports what training would refuse."""

import random
from pathlib import Path

import pytest
import yaml

from burnish.commands.new import NewConfig, new
from burnish.data.files import Files
from burnish.errors import BurnishError, DataError
from burnish.models.transformers import models_here
from burnish.models.transformers.models_here import ModelHere
from tests.data_request import Asked


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # what is proposed must not depend on what the machine of a developer holds
    usual = ModelHere("bert-base-uncased", "hub cache", "bert", 12, 768, 440_000_000)
    monkeypatch.setattr(models_here, "find_models_here", lambda: [usual])


def german(value: float, places: int = 2) -> str:
    return f"{value:,.{places}f}".translate(str.maketrans(",.", ".,"))


def rents(num_rows: int = 400, *, encoding: str = "latin-1", header: bool = True) -> str:
    draw = random.Random(0)
    lines = ["Straße;Größe_m2;Zimmer;Miete"] if header else []
    for row in range(num_rows):
        size = draw.uniform(20, 190)
        street = ("Königsallee", "Hauptstraße", "Am Mühlbach")[row % 3]
        lines.append(f"{street};{german(size, 1)};{1 + row % 5};{german(size * 11.3 + draw.uniform(0, 90))}")
    Path("Mieten.csv").write_bytes("\r\n".join([*lines, ""]).encode(encoding))
    return "Mieten.csv"


def orders(num_rows: int = 400) -> str:
    draw = random.Random(0)
    lines = ["order,date,price,qty,express,late"]
    for row in range(num_rows):
        price = f'"${draw.uniform(5, 3000):,.2f}"'
        qty = draw.choice(["1", "2", "3", "n/a"])
        late = draw.choice(["yes", "no"])
        lines.append(f"A{row:05d},2024-0{1 + row % 9}-1{row % 9},{price},{qty},{draw.choice(['True', 'False'])},{late}")
    Path("orders.csv").write_text("\n".join(lines) + "\n")
    return "orders.csv"


def options(made: NewConfig) -> dict[str, object]:
    return {key: value for key, value in yaml.safe_load(made.text)["data"].items() if key != "type"}


def test_a_german_excel_file_becomes_a_regression_of_its_last_column() -> None:
    made = new(rents())
    written = yaml.safe_load(made.text)
    assert (written["task"]["target"], written["task"]["kind"]) == ("Miete", "regression")
    assert (written["data"]["encoding"], written["data"]["decimal"], written["data"]["delimiter"]) == (
        "cp1252",
        ",",
        ";",
    )
    assert "#   Größe_m2: number" in made.text
    table = Files.model_validate(options(made)).load(Asked()).train.table
    assert all("." in cell and "," not in cell for cell in table["Miete"].to_pylist())
    assert any("not UTF-8" in note and "cp1252" in note and "Straße" in note for note in made.notes)
    assert any("decimal comma" in note for note in made.notes)


def test_a_german_file_without_header_is_read_in_its_dialect() -> None:
    made = new(rents(header=False))
    found = yaml.safe_load(made.text)
    assert (found["data"]["header"], found["data"]["decimal"], found["task"]["kind"]) == (False, ",", "regression")


def test_a_last_column_of_few_values_is_preferred_to_prices() -> None:
    made = new(orders())
    task = yaml.safe_load(made.text)["task"]
    assert (task["target"], task["kind"]) == ("late", "binary")
    assert "#   price: number" in made.text
    assert "ignored `order`: nearly every value is unique, so it looks like an ID" in made.notes


def test_a_column_of_prices_is_a_number_to_learn_if_it_is_named() -> None:
    assert yaml.safe_load(new(orders(), label="price").text)["task"]["kind"] == "regression"


def test_prices_in_the_first_column_stay_the_target() -> None:
    lines = [f"{100 + row * 7.5},{row % 4},{('bare', 'furnished', 'part')[row % 3]}" for row in range(60)]
    Path("houses.csv").write_text("\n".join(["price,rooms,furnishing", *lines]) + "\n")
    assert yaml.safe_load(new("houses.csv").text)["task"]["target"] == "price"


@pytest.mark.parametrize("has_text", [True, False])
def test_a_label_whose_values_are_nearly_all_distinct_is_no_set_of_classes(has_text: bool) -> None:
    text = "some words about the thing number" if has_text else "x"
    lines = [f"{text} {row if has_text else row % 3},{'ab'[row % 2]},T{row * 7:04x}" for row in range(60)]
    Path("a.csv").write_text("\n".join(["body,kind,label", *lines]) + "\n")
    task = yaml.safe_load(new("a.csv").text)["task"]
    assert task.get("label", task.get("target")) == "kind"
    with pytest.raises(DataError, match=r"`label` has 60 different values in 60 rows, like 'T0000'"):
        new("a.csv", label="label", out=Path("b.yaml"))


def broken(line: str, *, num_rows: int) -> str:
    rows = [f"{row % 7},{row * 1.5},{'ab'[row % 2]}" for row in range(num_rows)]
    rows[3] = line
    Path("broken.csv").write_bytes("\n".join(["x,y,label", *rows, ""]).encode("utf-8", errors="surrogateescape"))
    return "broken.csv"


FAULTS = {
    '1,"2,a': "a quote opens here and never closes",
    "1,2,a,b": "has 4 fields, but 3 are expected here",
    "1,2": "has 2 fields, but 3 are expected here",
    "ä,2,\udcf6": "byte 0xf6 is not UTF-8",
}


@pytest.mark.parametrize("line", FAULTS)
def test_a_broken_file_is_refused_with_file_and_line_and_nothing_is_written(line: str) -> None:
    with pytest.raises(DataError, match=rf"1 of 40 rows(.|\n)*broken\.csv:5: {FAULTS[line]}"):
        new(broken(line, num_rows=40))
    assert not Path("broken.yaml").exists()


@pytest.mark.parametrize("line", FAULTS)
def test_a_few_broken_rows_are_named_and_the_option_that_skips_them_is_written_as_a_comment(line: str) -> None:
    made = new(broken(line, num_rows=400))
    assert any(f"broken.csv:5: {FAULTS[line]}" in note and "bad_rows: skip" in note for note in made.notes)
    found = [each for each in made.text.splitlines() if "bad_rows" in each]
    assert len(found) == 1
    assert found[0].startswith("  # bad_rows: skip ")
    with pytest.raises(DataError, match="1 of 400 rows"):
        Files.model_validate(options(made)).load(Asked())
    skipping = yaml.safe_load(made.text.replace("# bad_rows: skip", "bad_rows: skip"))["data"]
    skipping.pop("type")
    assert len(Files.model_validate(skipping).load(Asked()).train) > 300


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_a_broken_row_does_not_hide_the_delimiter(delimiter: str) -> None:
    Path("a.csv").write_text(Path(broken("1,2,a,b", num_rows=400)).read_text().replace(",", delimiter))
    assert options(new("a.csv"))["delimiter"] == delimiter


def test_broken_rows_of_a_neighbour_are_reported_too() -> None:
    rows = "".join(f"{row % 7},{row * 1.5},{'ab'[row % 2]}\n" for row in range(400))
    Path("train.csv").write_text("x,y,label\n" + rows)
    Path("test.csv").write_text("x,y,label\n" + rows + "1,2\n")
    assert any("test.csv:402: has 2 fields" in note for note in new("train.csv").notes)


def test_a_config_that_exists_is_kept_and_both_ways_out_are_named() -> None:
    Path("orders.yaml").write_text("mine")
    expected = r"^orders\.yaml exists; write elsewhere with --out FILE or replace it with --force$"
    with pytest.raises(BurnishError, match=expected):
        new(orders())


def test_comments_are_in_plain_words() -> None:
    text = new(orders()).text
    assert "  # Detected column types. Uncomment to override:\n  # columns:\n" in text
    assert "# binary, multiclass or regression; auto: detect from the data" in text


def test_the_head_of_a_starter_names_the_columns_as_the_config_does() -> None:
    rows = "".join(f"some words to read in row {row}\t{'ab'[row % 2]}\n" for row in range(40))
    Path("bare.tsv").write_text(rows)
    text = new("bare.tsv").text
    assert "# Columns: text, label\n" in text
    assert "columns: [text, label]" in text


def test_an_encoding_that_cannot_be_guessed_is_asked_for_and_can_be_named() -> None:
    rows = "".join(f"съешь ещё этих мягких булок номер {row},{('да', 'нет')[row % 2]}\n" for row in range(40))
    Path("a.csv").write_bytes(("текст,ответ\n" + rows).encode("cp1251"))
    with pytest.raises(DataError, match=r"a\.csv:1: byte 0xf2 is not UTF-8(.|\n)*`burnish new --encoding cp1251`"):
        new("a.csv")
    found = yaml.safe_load(new("a.csv", encoding="cp1251").text)
    assert (found["data"]["encoding"], found["task"]["text"], found["task"]["label"]) == ("cp1251", "текст", "ответ")
    with pytest.raises(DataError, match="--encoding must be an encoding of text, like utf-8, cp1252"):
        new("a.csv", encoding="cp125x", out=Path("b.yaml"))
