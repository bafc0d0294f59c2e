"""A spreadsheet's CSV of a country with decimal commas, from `new` to predictions."""

import random
from pathlib import Path

import pyarrow.csv
import pytest
import yaml

from burnish.artifact.predictor import Predictor
from burnish.commands.evaluate import evaluate
from burnish.commands.new import new
from burnish.commands.predict import predict_file
from burnish.commands.train import train

NAMES = ["Größe_m2", "Lage", "Nebenkosten", "Miete"]


def german(value: float) -> str:
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def rows(count: int) -> list[list[str]]:
    draw = random.Random(0)
    made = []
    for _ in range(count):
        size, place = draw.uniform(20, 190), draw.choice(["Südstadt", "Altstadt"])
        rent = size * (14 if place == "Altstadt" else 9)
        made.append([german(size), place, f"{german(size * 2)} €", german(rent)])
    return made


def write(path: Path, lines: list[list[str]], *, encoding: str) -> str:
    path.write_bytes("\r\n".join(";".join(line) for line in lines).encode(encoding))
    return str(path)


@pytest.fixture(scope="module")
def rents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rents")
    starter = new(write(folder / "mieten.csv", [NAMES, *rows(300)], encoding="cp1252"), out=folder / "mieten.yaml")
    config = yaml.safe_load(starter.text)
    config["task"]["derived"] = {"warm": "Größe_m2 + Nebenkosten"}
    config |= {"model": "linear", "runtime": {"threads": 1}}
    config["train"] = {"length": "60 epochs", "batch": 32}
    config["optimizer"]["learning_rate"] = 2e-2
    (folder / "mieten.yaml").write_text(yaml.safe_dump(config))
    train(str(folder / "mieten.yaml"), directory=folder / "run")
    return folder


def predicted(rents: Path, source: str) -> list[float]:
    out = rents / "out.csv"
    predict_file(str(rents / "run"), source=source, out=out)
    answers: list[float] = pyarrow.csv.read_csv(out)["predicted"].to_pylist()
    return answers


def test_other_files_of_the_dialect_and_json_numbers_get_the_same_answers(rents: Path) -> None:
    lines = [NAMES, *rows(20)]
    expected = predicted(rents, write(rents / "a.csv", lines, encoding="cp1252"))
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert predicted(rents, write(rents / f"{encoding}.csv", lines, encoding=encoding)) == expected
    plain = [[cell.replace(".", "").replace(",", ".").removesuffix(" €") for cell in line] for line in lines[1:]]
    (rents / "plain.csv").write_text("\n".join(",".join(line) for line in [NAMES, *plain]))
    assert predicted(rents, str(rents / "plain.csv")) == expected
    given = [{"Größe_m2": float(size), "Lage": place, "Nebenkosten": float(cost)} for size, place, cost, _ in plain]
    answers = Predictor.load(rents / "run" / "artifact").predict(given)
    assert [answer.value for answer in answers] == pytest.approx(expected)


def test_a_file_of_the_dialect_is_scored(rents: Path) -> None:
    source = write(rents / "b.csv", [NAMES, *rows(50)], encoding="cp1252")
    assert evaluate(str(rents / "run"), data=source).scores["r2"].value > 0.9
