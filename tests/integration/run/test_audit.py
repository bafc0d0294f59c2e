"""The data audit in a real run: what leaks is noted with its place, refused if asked, and left out of another score."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from burnish.commands.train import train
from burnish.errors import DataError
from burnish.run.audit import score_without_repeated
from burnish.run.record.directory import RunDirectory
from burnish.spec.events import Event, Noted

CONFIG = """\
task: {{type: tabular, target: y, importance: 0{columns}}}
model: linear
runtime: {{threads: 1}}
train: {{length: 20 steps, batch: 16}}
data: {{train: {folder}/train.csv, validation: {folder}/valid.csv, test: {folder}/test.csv{more}}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Rows of train, of which two occur in test, and one of train has a second label."""
    train = [f"{a},{a * 7 % 11},{'high' if a % 3 else 'low'}" for a in range(60)]
    (tmp_path / "train.csv").write_text("\n".join(["a,b,y", *train, "0,0,high"]) + "\n")
    others = [f"{a}.5,{a * 5 % 9},{'high' if a % 3 else 'low'}" for a in range(30)]
    (tmp_path / "valid.csv").write_text("\n".join(["a,b,y", *others]) + "\n")
    (tmp_path / "test.csv").write_text("\n".join(["a,b,y", *[f"1{row}" for row in others], train[4], train[5]]) + "\n")
    return tmp_path


def run(folder: Path, *, more: str = "", columns: str = "") -> tuple[Path, list[str]]:
    (folder / "config.yaml").write_text(CONFIG.format(folder=folder, more=more, columns=columns))
    events: list[Event] = []
    result = train(str(folder / "config.yaml"), directory=folder / "run", watch=events.append)
    return result.directory, [event.message for event in events if isinstance(event, Noted)]


def test_what_leaks_is_noted_with_its_place_and_left_out_of_a_second_score(folder: Path) -> None:
    directory, notes = run(folder)
    (leak,) = (note for note in notes if "also occur in train" in note)
    assert leak.startswith("2 of the 32 rows of test (6.2%)")
    assert "test.csv:32 (" in leak
    assert "train.csv:6" in leak
    assert any("1 input of train occurs with different labels" in note for note in notes)
    written = json.loads((directory / "audit.json").read_text())
    assert written["tasks"][""]["repeated"] == {"test": [30, 31]}
    assert set(written["scores_without_repeated"]) == {"test"}
    page = (directory / "report.html").read_text()
    assert "<h2>Data audit</h2>" in page
    assert "Without those rows" in page


@pytest.mark.parametrize("torn", ["[]", "{", '{"tasks": {"": 7}}', '{"tasks": {"": {"repeated": {"test": ["x"]}}}}'])
def test_a_torn_file_of_the_audit_does_not_keep_a_run_from_its_end(folder: Path, torn: str) -> None:
    directory, _ = run(folder)
    (directory / "audit.json").write_text(torn)
    context = SimpleNamespace(directory=RunDirectory(directory))
    score_without_repeated(None, {"test": {}}, context)  # type: ignore[arg-type]  # nothing else is looked at
    assert (directory / "audit.json").read_text() == torn


def test_an_audit_that_must_find_nothing_refuses_before_training(folder: Path) -> None:
    with pytest.raises(DataError, match=r"rows of test[\s\S]*different labels"):
        run(folder, more=", audit: error")
    assert not (folder / "run" / "checkpoints").exists()


@pytest.fixture
def telling(folder: Path) -> Path:
    """Rows with a column that is known only afterwards, one that numbers them and one that is the same in all."""
    for name, begin, end in (("train", 0, 300), ("valid", 1000, 1060), ("test", 2000, 2060)):
        answers = {at: "high" if at % 3 else "low" for at in range(begin, end)}
        rows = [f"{at},{at * 37 % 101},{at * 7 % 11},{y}-{at % 4 // 2},same,{y}" for at, y in answers.items()]
        (folder / f"{name}.csv").write_text("\n".join(["id,a,b,after,still,y", *rows]) + "\n")
    return folder


def test_columns_that_tell_the_target_or_number_the_rows_are_named(telling: Path) -> None:
    directory, notes = run(telling, columns=", columns: {still: category, id: number}")
    (leak,) = (note for note in notes if "almost determines" in note)
    assert leak.startswith("`after` almost determines `y` by itself (it scores 1.000)")
    assert "set task.columns.after: drop" in leak
    assert [note for note in notes if "as task.columns says" in note] == [
        "`id` is learned from, as task.columns says, although it numbers the rows",
        "`still` is learned from, as task.columns says, although it holds 'same' in every row",
    ]
    written = json.loads((directory / "audit.json").read_text())["tasks"][""]["findings"]
    assert leak in written
    assert "almost determines" in (directory / "report.html").read_text()


def test_leakage_is_refused_and_columns_that_are_not_learned_from_only_listed(telling: Path) -> None:
    with pytest.raises(DataError, match="`after` almost determines") as caught:
        run(telling, more=", audit: error")
    assert "`id`" not in str(caught.value)
    directory, notes = run(telling, more=", audit: error", columns=", columns: {after: drop}")
    assert not any("not learned from" in note for note in notes)  # the profile has said so
    findings = json.loads((directory / "audit.json").read_text())["tasks"][""]["findings"]
    assert "`id` is not learned from: it numbers the rows" in findings
    assert "`still` is not learned from: it holds 'same' in every row" in findings


def test_an_audit_can_be_left_out(folder: Path) -> None:
    directory, notes = run(folder, more=", audit: off")
    assert not any("occur" in note for note in notes)
    assert json.loads((directory / "audit.json").read_text()) == {"tasks": {}}
