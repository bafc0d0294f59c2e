"""What a source says of its files before it reads them is what a run records of them."""

from pathlib import Path

import pytest

import burnish
from burnish.commands.config import check
from burnish.commands.prepare import prepare
from burnish.errors import CheckpointError, DataError
from burnish.run.preparation.prepare import changed_data, digest_data
from burnish.run.preparation.prepare import prepare as prepare_here
from burnish.run.record.directory import RunDirectory
from burnish.spec.experiment import Experiment

ROWS = "".join(f"{number / 10},{'no' if number < 20 else 'yes'}\n" for number in range(40))
TABLE = """
task: {{type: tabular, target: y}}
data: {data}
model: linear
train: {{length: 2 steps, batch: 16}}
runtime: {{threads: 1}}
"""
OF_FILES = {
    "one file": "{train: a.csv, split: {validation: 0.25}}",
    "a pattern and a test set": "{train: '?.csv', test: other/c.csv, split: {validation: 0.25}}",
    "a folder to start from": "{dir: other, train: c.csv, split: {validation: 0.25}}",
    "a refit": "{type: refit, of: {train: a.csv, split: {validation: 0.25}}}",
    "further sets": "{train: a.csv, also: {held: b.csv}, split: {validation: 0.25}}",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BURNISH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "other").mkdir()
    for name in ("a.csv", "b.csv", "other/c.csv"):
        (tmp_path / name).write_text(f"x,y\n{ROWS}")
    return tmp_path


def experiment_of(data: str, *, config: str = TABLE) -> Experiment:
    Path("mine.yaml").write_text(config.format(data=data))
    return check("mine.yaml").experiment


@pytest.mark.parametrize("data", OF_FILES.values(), ids=OF_FILES)
def test_of_every_source(data: str) -> None:
    experiment = experiment_of(data)
    recorded = prepare_here(experiment).digests
    assert digest_data(experiment) == recorded
    assert changed_data(experiment, recorded) == []
    edited = Path("a.csv" if "a.csv" in recorded else "other/c.csv")
    edited.write_text(f"x,y\n{ROWS}9,yes\n")
    assert len(changed_data(experiment, recorded)) == 1


def test_of_a_folder_laid_out_as_on_a_hub() -> None:
    pytest.importorskip("datasets", reason="the extra `hub` is not installed")
    experiment = experiment_of("{type: hub, name: other, split: {validation: 0.25}}")
    recorded = prepare_here(experiment).digests
    assert digest_data(experiment) == recorded
    Path("other/c.csv").write_text(f"x,y\n{ROWS}9,yes\n")
    assert changed_data(experiment, recorded) == ["other [train] was changed"]


def test_of_several_tasks_each_by_its_name() -> None:
    config = """
task:
  type: multi
  tasks: {{one: {{type: text_classification, text: x}}, two: {{type: text_classification, text: x}}}}
data: {data}
model: {{type: transformer, name: none}}
"""
    sets = "{type: several, sets: {one: {train: a.csv}, two: {train: [b.csv, 'https://127.0.0.1:9/far.csv']}}}"
    experiment = experiment_of(sets, config=config)
    found = digest_data(experiment)
    assert [*found] == ["one/a.csv", "two/b.csv"]
    recorded = {**found, "two/https://127.0.0.1:9/far.csv": "1"}
    assert changed_data(experiment, recorded) == []
    Path("b.csv").write_text("x,y\n1,no\n")
    assert changed_data(experiment, recorded) == ["two/b.csv was changed"]


def test_of_folders_of_texts_and_of_a_set_of_glue() -> None:
    for label in ("neg", "pos"):
        Path("texts", label).mkdir(parents=True)
        Path("texts", label, "1.txt").write_text(f"a {label} text")
    config = "task: {{type: text_classification}}\ndata: {data}\nmodel: {{type: transformer, name: none}}\n"
    experiment = experiment_of("{train: texts}", config=config)
    recorded = digest_data(experiment)
    Path("texts/neg/1.txt").write_text("another text")
    assert changed_data(experiment, recorded) == ["texts was changed"]
    Path("glue").mkdir()
    for name in ("train", "dev"):
        Path(f"glue/{name}.tsv").write_text("sentence\tlabel\nfine\t1\nbad\t0\n")
    experiment = experiment_of("{type: glue, set: sst2, dir: glue}", config=config)
    recorded = digest_data(experiment)
    assert [*recorded] == ["glue/train.tsv", "glue/dev.tsv"]
    Path("glue/dev.tsv").unlink()
    with pytest.raises(DataError, match=r"has no dev\.tsv"):
        changed_data(experiment, recorded)


def test_of_prepared_data() -> None:
    experiment_of(OF_FILES["one file"])
    prepare("mine.yaml", out=Path("ready"))
    experiment = experiment_of("{type: prepared, dir: ready}")
    assert digest_data(experiment) == prepare_here(experiment).digests
    (Path("ready") / "MANIFEST.json").write_text("{}")
    with pytest.raises(DataError, match="no manifest of prepared data"):
        digest_data(experiment)


def test_a_run_of_edited_data_is_trained_anew_or_refused() -> None:
    experiment_of(OF_FILES["one file"])
    first = burnish.train("mine.yaml", progress=False)
    Path("a.csv").write_text(f"x,y\n{ROWS.replace('yes', 'maybe')}")
    with pytest.raises(CheckpointError, match=r"a\.csv was changed\nNothing was trained"):
        burnish.train("mine.yaml", dir="runs/mine", progress=False)
    second = burnish.train("mine.yaml", progress=False)
    assert (first.directory, second.directory) == (Path("runs/mine"), Path("runs/mine-2"))
    assert '"maybe"' in RunDirectory(second.directory).profile.read_text()
    assert burnish.train("mine.yaml", progress=False).directory == second.directory
