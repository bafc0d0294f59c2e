"""`data.filter` and `derived` hold for the rows of a file as for those of a split, or it is said that they do not."""

from pathlib import Path
from random import Random

import pytest

from burnish.commands.evaluate import evaluate
from burnish.commands.export import export
from burnish.commands.predict import predict_file
from burnish.commands.train import train
from burnish.errors import DataError

CONFIG = """
task: {type: tabular, target: y, columns: {a: drop}, derived: {sum: a + b}, others: drop}
data: {train: train.csv, validation: other.csv, filter: FILTER}
model: linear
optimizer: {learning_rate: 0.1}
train: {length: 40 steps, batch: 20}
runtime: {threads: 1, precision: fp32}
"""


def write_rows(path: Path, *, seed: int, columns: str = "a,b,kind,y") -> None:
    """Rows whose target follows the sum for one kind, and is its opposite for the other."""
    draw = Random(seed)
    lines = [columns]
    for _ in range(200):
        a, b, kind = draw.random(), draw.random(), draw.choice(["good", "odd"])
        row = {"a": f"{a:.3f}", "b": f"{b:.3f}", "kind": kind, "y": "yes" if (a + b > 1) == (kind == "good") else "no"}
        lines.append(",".join(row[name] for name in columns.split(",")))
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(params=["{kind: good}", "\"b < 2 and kind == 'good'\""])
def artifact(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    write_rows(Path("train.csv"), seed=1)
    write_rows(Path("other.csv"), seed=2)
    Path("config.yaml").write_text(CONFIG.replace("FILTER", request.param).lstrip())
    return str(train("config.yaml", directory=Path("run")).directory)


def test_a_file_is_scored_on_the_rows_that_its_split_is_scored_on(artifact: str) -> None:
    of_split, of_file = evaluate(artifact, split="validation"), evaluate(artifact, data="other.csv")
    assert of_file.scores == of_split.scores
    assert of_file.scores["accuracy"].value > 0.8
    [note] = of_file.notes
    assert note.startswith("data.filter keeps 9") or note.startswith("data.filter keeps 1")
    assert note.endswith("of the 200 rows of other.csv")


def test_a_file_without_the_columns_of_the_filter_is_scored_as_it_is_and_that_is_said(artifact: str) -> None:
    write_rows(Path("bare.csv"), seed=2, columns="a,b,y")
    found = evaluate(artifact, data="bare.csv")
    assert found.notes == ("data.filter is not applied to bare.csv, which has no `kind`: all 200 rows are scored",)


def test_a_file_of_which_the_filter_keeps_nothing_is_refused(artifact: str) -> None:
    Path("none.csv").write_text("a,b,kind,y\n1,1,odd,yes\n")
    with pytest.raises(DataError, match=r"data\.filter: .*none of the 1 rows of none\.csv"):
        evaluate(artifact, data="none.csv")


def test_a_variant_is_proved_on_the_rows_of_the_filter_too(artifact: str) -> None:
    assert "data.filter keeps" in "".join(export(artifact, data="other.csv").notes)


def test_every_row_is_predicted_and_that_is_said(artifact: str) -> None:
    found = predict_file(artifact, source="other.csv")
    assert found.table.num_rows == 200
    assert "data.filter is for rows with a target: all 200 rows of other.csv are predicted" in found.notes
