"""`new` reads tables as tables: names, titles, places, codes and times are no text, and ids are no targets."""

import csv
import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest
import yaml
from typer.testing import CliRunner

from burnish.cli.main import app
from burnish.commands.config import check
from burnish.commands.new import NewConfig, new
from burnish.tasks.tabular import guess as guessing
from burnish.tasks.tabular import leakage

SYLLABLES = ("ka", "lo", "mi", "ren", "sto", "va", "del", "bo", "tri", "nes")
SENTENCES = (
    "The room was clean and the staff were friendly to us",
    "I would not stay here again because of the noise",
    "It is close to the station but the breakfast was poor",
    "We had a lovely view of the sea from our window",
)

Row = Mapping[str, object]


def made_up(draw: random.Random, count: int) -> str:
    return " ".join("".join(draw.choices(SYLLABLES, k=3)).title() for _ in range(count))


def passenger(draw: random.Random, at: int) -> Row:
    sex = draw.choice(["male", "female"])
    return {
        "PassengerId": at + 1,
        "Survived": int(draw.random() < (0.7 if sex == "female" else 0.2)),
        "Pclass": draw.choice([1, 2, 3]),
        "Name": f"{made_up(draw, 1)}, {'Mr' if sex == 'male' else 'Mrs'}. {made_up(draw, 2)}",
        "Sex": sex,
        "Age": draw.choice(["", draw.randrange(1, 80)]),
        "SibSp": draw.randrange(3),
        "Parch": draw.randrange(3),
        "Ticket": f"{draw.choice(['A/5', 'PC', ''])} {draw.randrange(1000, 99999)}".strip(),
        "Fare": round(draw.uniform(5, 200), 4),
        "Cabin": draw.choice(["", f"C{draw.randrange(99)}"]),
        "Embarked": draw.choice("SCQ"),
    }


def ride(draw: random.Random, at: int) -> Row:
    return {
        "key": f"2013-{1 + at % 12:02d}-{1 + at % 28:02d} {at % 24:02d}:00:00.{at:07d}",
        "fare_amount": round(draw.uniform(3, 60), 2),
        "pickup_datetime": f"2013-{1 + at % 12:02d}-{1 + at % 28:02d} {at % 24:02d}:15:{at % 60:02d} UTC",
        "pickup_longitude": -73.9 + draw.random() / 9,
        "pickup_latitude": 40.7 + draw.random() / 9,
        "dropoff_longitude": -73.9 + draw.random() / 9,
        "dropoff_latitude": 40.7 + draw.random() / 9,
        "passenger_count": draw.randrange(1, 7),
    }


def loan(draw: random.Random, at: int) -> Row:
    return {
        "loan_id": 500_000 + 7 * at,
        "emp_title": made_up(draw, draw.randrange(2, 6)),
        "emp_length": draw.randrange(11),
        "state": draw.choice(["CA", "NY", "TX", "OH"]),
        "homeownership": draw.choice(["rent", "own", "mortgage"]),
        "annual_income": draw.randrange(20_000, 150_000),
        "loan_purpose": draw.choice(["car", "house", "medical bills"]),
        "issue_month": f"{draw.choice(['Jan', 'Feb', 'Mar'])}-2018",
        "interest_rate": round(draw.uniform(5, 30), 2),
        "sub_grade": draw.choice(["A1", "A2", "B1"]),
        "term": draw.choice([36, 60]),
    }


def film(draw: random.Random, at: int) -> Row:
    return {
        "userId": 1 + at % 40,
        "movieId": draw.randrange(1, 900),
        "title": f"The {made_up(draw, 2)} of {made_up(draw, 1)} ({draw.randrange(1950, 2010)})",
        "genres": draw.choice(["Drama|War", "Comedy", "Comedy|Romance"]),
        "timestamp": 1_200_000_000 + draw.randrange(10**7),
        "rating": draw.choice([1.0, 2.5, 3.0, 3.5, 4.0, 5.0]),
    }


def stay(draw: random.Random, at: int) -> Row:
    return {
        "review_text": f"{draw.choice(SENTENCES)} {made_up(draw, 2)}.",
        "nights": draw.randrange(1, 9),
        "room": draw.choice(["single", "double", "suite"]),
        "sentiment": draw.choice(["good", "bad"]),
    }


def order(draw: random.Random, at: int) -> Row:
    remark = f"{draw.choice(SENTENCES)} {made_up(draw, 2)}" if at % 9 == 0 else ""
    return {"items": draw.randrange(9), "weight": draw.uniform(1, 9), "remark": remark, "returned": "ny"[at % 2]}


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(make: Callable[[random.Random, int], Row], *, rows: int = 400) -> str:
    draw = random.Random(0)
    made = [make(draw, at) for at in range(rows)]
    path = f"{make.__name__}s.csv"
    with open(path, "w", newline="") as stream:
        writer = csv.DictWriter(stream, list(made[0]))
        writer.writeheader()
        writer.writerows(made)
    return path


def task_of(starter: NewConfig) -> dict[str, object]:
    found = yaml.safe_load(starter.text)["task"]
    assert isinstance(found, dict)
    return found


TABLES = [
    (passenger, "Survived", "binary", {"Name": "drop", "PassengerId": "drop", "Sex": "category", "Age": "number"}),
    (ride, "fare_amount", "regression", {"pickup_datetime": "datetime", "passenger_count": "number"}),
    (loan, "interest_rate", "regression", {"loan_id": "drop", "emp_title": "drop", "state": "category"}),
    (film, "rating", "regression", {"timestamp": "datetime", "genres": "category", "userId": "number"}),
]


@pytest.mark.parametrize("is_named", [False, True], ids=["guessed", "named"])
@pytest.mark.parametrize(("make", "target", "kind", "kinds"), TABLES, ids=["titanic", "taxi", "loans", "films"])
def test_tables_that_everybody_tries_first_are_tables(
    make: Callable[[random.Random, int], Row], target: str, kind: str, kinds: dict[str, str], is_named: bool
) -> None:
    starter = new(write(make), label=target if is_named else None)
    task = task_of(starter)
    assert (task["type"], task["target"], task["kind"]) == ("tabular", target, kind)
    for column, expected in kinds.items():
        assert f"#   {column}: {expected} " in starter.text, starter.text
    assert not starter.rivals
    assert check(str(starter.path)).experiment.task is not None


@pytest.mark.parametrize("target", ["sentiment", None])
def test_prose_next_to_columns_is_read_with_them(target: str | None) -> None:
    starter = new(write(stay), label=target)
    task = task_of(starter)
    assert (task["type"], task["text"], task["label"]) == ("text_and_columns", "review_text", "sentiment")
    assert task["columns"] == ["nights", "room"]
    assert any("--text review_text proposes the text alone" in note for note in starter.notes)
    assert check(str(starter.path)).experiment.task is not None
    alone = new("stays.csv", text="review_text", label=target, out=Path("alone.yaml"))
    assert task_of(alone)["type"] == "text_classification"


def test_a_remark_that_most_rows_lack_is_left_out_of_the_table_and_this_is_said() -> None:
    starter = new(write(order))
    assert (task_of(starter)["type"], task_of(starter)["target"]) == ("tabular", "returned")
    assert "`remark` is left out" in starter.notes[0]


def two_ends(draw: random.Random, at: int) -> Row:
    return {"plan": draw.choice(["x", "z"]), "a": draw.random(), "b": draw.random(), "kept": draw.choice(["yes", "no"])}


def test_columns_that_may_be_meant_as_well_are_listed_each_with_its_command() -> None:
    starter = new(write(two_ends))
    assert (starter.target, starter.rivals) == ("kept", ("plan",))
    assert "`plan` may be meant as well: burnish new two_endss.csv --target plan --force" in starter.notes
    assert new("two_endss.csv", label="kept", force=True).rivals == ()


def test_on_a_terminal_the_target_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(two_ends)
    monkeypatch.setattr("burnish.cli.data._is_asked", lambda: True)
    result = CliRunner().invoke(app, ["new", path], input="plan\n")
    assert "which column is to be predicted: kept, plan?" in result.output
    assert yaml.safe_load(Path("two_endss.yaml").read_text())["task"]["target"] == "plan"


NOT_TARGETS = [
    {"id": 0.0, "size": 1.0, "price": 2.0},
    {"price": 1.0, "size": 2.0, "years_of_service": 3.0, "width": 1.0},
    {"height": 1.0, "TotalPrice": 2.0, "created_at": 20200101.0},
    {"latitude": 1.0, "SalePrice": 4.0, "customer_id": 8.0},
    {"sub_class": 3.0, "rooms": 2.0, "Sale_Price": 4.0, "garage": 1.0, "pool": 9.0, "year_sold": 5.0},
]


@pytest.mark.parametrize("row", NOT_TARGETS, ids=" ".join)
def test_ids_widths_places_and_years_of_service_are_not_what_a_table_is_about(row: dict[str, float]) -> None:
    def make(draw: random.Random, at: int) -> Row:
        return {name: at if name.endswith("id") else round(value + draw.random(), 3) for name, value in row.items()}

    assert "price" in str(task_of(new(write(make)))["target"]).lower()


def test_a_column_of_thousands_of_values_costs_no_more_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """One-hot classes of all rows were 200 million cells; a sample keeps to the bound whatever the file holds."""
    draw = random.Random(0)
    codes = [f"c-{draw.randrange(3900)}" for _ in range(50_000)]
    amounts = [draw.random() for _ in range(50_000)]
    pa.csv.write_csv(pa.table({"code": codes, "amount": amounts, "other": codes[::-1]}), "big.csv")
    cells, rows = [], []
    guess = guessing.guess

    def count_cells(codes: object, truth: object, *, kind: str, labels: tuple[str, ...]) -> float:
        cells.append(len(truth) * max(1, len(labels)))  # type: ignore[arg-type]  # an array
        return 0.0

    def count_rows(frame: object, name: str) -> object:
        rows.append(len(frame))  # type: ignore[arg-type]  # a frame
        return guess(frame, name)  # type: ignore[arg-type]  # as above

    monkeypatch.setattr(leakage, "_score", count_cells)
    monkeypatch.setattr(guessing, "guess", count_rows)
    assert task_of(new("big.csv", label="code"))["kind"] == "multiclass"
    assert max(cells) <= 2_000_000
    assert max(rows) <= 20_000


def test_prose_is_told_from_names_titles_places_codes_and_times() -> None:
    draw = random.Random(1)
    columns = {
        "names": lambda: f"{made_up(draw, 1)}, Mrs. {made_up(draw, 4)} ({made_up(draw, 2)})",
        "titles": lambda: f"The {made_up(draw, 3)} of {made_up(draw, 1)}",
        "places": lambda: f"{draw.randrange(99)} {made_up(draw, 2)} Street, {made_up(draw, 1)}, {draw.randrange(9999)}",
        "codes": lambda: " ".join(f"{draw.randrange(16**4):04x}" for _ in range(12)),
        "times": lambda: f"2024-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d} 10:00:00 UTC",
        "repeated": lambda: draw.choice(SENTENCES),
        "sentences": lambda: f"{draw.choice(SENTENCES)} {made_up(draw, 1)}.",
    }
    from burnish.data.inspection.inspect import inspect_file

    with open("a.csv", "w", newline="") as stream:
        csv.writer(stream).writerows([list(columns), *([cell() for cell in columns.values()] for _ in range(300))])
    assert {column.name for column in inspect_file("a.csv").columns if column.is_prose} == {"sentences"}
