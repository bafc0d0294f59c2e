"""Features written once train to the same bits as the source, and a folder that does not fit is refused."""

import csv
import io
import json
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pytest

from burnish.cli.main import run
from burnish.commands.predict import predict_file
from burnish.commands.prepare import Written, prepare
from burnish.commands.train import train
from burnish.config import load
from burnish.data.codecs.example import parse_example
from burnish.data.codecs.tfrecord import read_records
from burnish.data.readers.read import read
from burnish.data.sources.address import DataFile
from burnish.data.tfrecord import TfRecords
from burnish.errors import DataError
from burnish.run.preparation.prepare import prepare as encode
from burnish.storage import manifest
from burnish.tasks.text_classification.encoder import TextEncoder
from tests.harness.shards import rewrite_shard
from tests.integration.tasks.question_answering.test_task import write as write_questions
from tests.integration.tasks.token_classification import test_task as tags
from tests.project import Project, make_project

TAGS = "O B-BAD I-BAD B-GOOD I-GOOD"
SMALL = "optimizer: {learning_rate: 3e-3}\ntrain: {length: 5 steps, batch: 8}\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Project:
    return make_project(tmp_path_factory.mktemp("prepared"), model=tiny_bert, rows=160, config=SMALL)


@pytest.fixture(scope="module")
def written(project: Project) -> Written:
    return prepare(str(project.config), out=project.root / "ready", shard_size="2kB", has_tfrecord=True)


def use(written: Written) -> list[str]:
    return [f"data={{type: prepared, dir: {written.path}}}"]


def losses(directory: Path) -> list[tuple[float, float]]:
    events = [json.loads(line) for line in (directory / "events.jsonl").read_text().splitlines()]
    return [(each["loss"], each["gradient_norm"]) for each in events if each["event"] == "stepped"]


def test_training_from_the_folder_is_training_from_the_source_bit_for_bit(project: Project, written: Written) -> None:
    train(str(project.config), directory=project.run("source"))
    train(str(project.config), overrides=use(written), directory=project.run("folder"))
    scores = [json.loads((project.run(name) / "scores.json").read_text())["scores"] for name in ("source", "folder")]
    assert scores[0] == scores[1]
    assert losses(project.run("source")) == losses(project.run("folder")) != []
    manifests = [manifest.read(project.run(name) / "artifact") or {} for name in ("source", "folder")]
    weights = "model/model.safetensors"
    assert manifests[0]["files"][weights] == manifests[1]["files"][weights]


def test_training_from_records_of_token_ids_is_training_from_the_texts_bit_for_bit(
    project: Project, written: Written, tiny_bert: Path
) -> None:
    sets = ", ".join(f"{split}: '{written.path}/tfrecord/{split}-*'" for split in ("train", "validation", "test"))
    records = f"data={{type: tfrecord, {sets}, tokenizer: {tiny_bert}, labels: [neg, pos]}}"
    train(str(project.config), directory=project.run("texts"))
    train(str(project.config), overrides=[records], directory=project.run("records"))
    assert losses(project.run("texts")) == losses(project.run("records")) != []
    manifests = [manifest.read(project.run(name) / "artifact") or {} for name in ("texts", "records")]
    assert len({each["files"]["model/model.safetensors"]["sha256"] for each in manifests}) == 1
    shard = next((written.path / "tfrecord").glob("test-*"))
    predict_file(str(project.run("records")), source=str(shard), out=project.root / "answers.csv")
    answered = list(csv.DictReader((project.root / "answers.csv").open(newline="")))
    assert len(answered) == sum(1 for _ in read_records(io.BytesIO(shard.read_bytes()), name=shard.name))


def test_the_manifest_tells_what_is_there(written: Written) -> None:
    content = manifest.read(written.path) or {}
    assert manifest.fault(written.path) is None
    assert written.rows == {"train": 64, "validation": 32, "test": 64}
    assert {name: sizes["rows"] for name, sizes in content["splits"].items()} == written.rows
    assert content["profile"]["labels"] == ["neg", "pos"]
    assert content["encoder"]["max_length"] == 24
    shards = [path for path in (written.path / "features").iterdir() if path.name.startswith("train-")]
    assert len(shards) == content["splits"]["train"]["features_shards"] > 1


def test_nothing_is_encoded_but_a_row_that_tells_the_columns(
    project: Project, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    known = TextEncoder.encode
    monkeypatch.setattr(TextEncoder, "encode", lambda self, table: sizes.append(len(table)) or known(self, table))
    experiment = load(str(project.config), overrides=use(written)).experiment
    ready = encode(experiment, tell=print)
    assert sizes == [1, 1, 1]
    assert len(ready.features["train"]) == 64


def test_records_hold_what_a_batch_does(project: Project, written: Written) -> None:
    records = []
    for path in sorted((written.path / "tfrecord").glob("train-*.tfrecord")):
        with path.open("rb") as stream:
            found = list(read_records(stream, name=path.name))
        assert all(record.is_whole for record in found)
        assert len(found) == 1 or path.stat().st_size <= 2000
        records += [parse_example(record.data) for record in found]
    assert len(records) == 64
    names = {"input_ids", "input_mask", "segment_ids", "label_ids", "is_real_example", "row"}
    assert all(set(record) == names for record in records)
    assert all(len(record[name].values) == 24 for record in records for name in ("input_ids", "input_mask"))
    assert [record["row"].values for record in records] == [(row,) for row in range(64)]
    labels = pa.concat_tables(
        [pa.ipc.open_file(path).read_all() for path in sorted((written.path / "rows").glob("train-*"))]
    )["label"]
    assert [("neg", "pos")[record["label_ids"].values[0]] for record in records] == labels.to_pylist()
    assert all(
        (np.array(record["input_ids"].values) != 0).tolist() == list(map(bool, record["input_mask"].values))
        for record in records
    )


def test_texts_that_are_packed_into_blocks_come_back_as_they_were(project: Project) -> None:
    blocks = ["task={type: masked_lm, max_length: 16}"]
    written = prepare(str(project.config), overrides=blocks, out=project.root / "blocks")
    assert written.features["train"] != written.rows["train"]
    experiment = load(str(project.config), overrides=[*blocks, *use(written)]).experiment
    source = load(str(project.config), overrides=blocks).experiment
    here, there = (encode(each, tell=print) for each in (experiment, source))
    assert all(here.features[split].equals(there.features[split]) for split in ("train", "validation", "test"))


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("task.max_length=16", r"max_length is 16 here and 24 there"),
        ("task.truncation=tail", r"truncation\S* is \S.* here and \S.* there"),
        ("task.labels=[pos, neg]", r"labels is \[\"pos\", \"neg\"\] here and \[\"neg\", \"pos\"\] there"),
        ("task.text=body", r"task: there is no column `body`"),
    ],
)
def test_a_folder_for_another_experiment_is_refused_with_what_differs(
    project: Project, written: Written, override: str, said: str
) -> None:
    with pytest.raises(DataError, match=said):
        train(str(project.config), overrides=[*use(written), override], directory=project.run("misfit"))


@pytest.mark.parametrize("strange", [-1, 5000])
def test_ids_that_the_model_has_no_token_for_are_refused(project: Project, written: Written, strange: int) -> None:
    folder = project.root / f"strange{strange}"
    shutil.copytree(written.path, folder)
    shard = folder / "features" / "train-00000.arrow"
    table = pa.ipc.open_file(shard.read_bytes()).read_all()
    lists = [[strange, *ids[1:]] for ids in table["a"].to_pylist()]
    column = pa.array(lists, table.schema.field("a").type)
    rewrite_shard(shard, table.set_column(table.column_names.index("a"), "a", column))
    experiment = load(str(project.config), overrides=[f"data={{type: prepared, dir: {folder}}}"]).experiment
    with pytest.raises(DataError, match=rf"{shard}: `a` holds {strange:,}, and this experiment has 0 to \d+"):
        encode(experiment)


def test_nothing_is_overwritten_and_what_a_crash_left_does_no_harm(project: Project, written: Written) -> None:
    with pytest.raises(DataError, match="already exists and is not overwritten"):
        prepare(str(project.config), out=written.path)
    left = project.root / ".again.building"
    left.mkdir()
    (left / "half").touch()
    again = prepare(str(project.config), out=project.root / "again")
    assert not left.exists()
    assert not (again.path / "half").exists()


def test_the_command_line_takes_an_experiment_without_a_verb(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    out = project.root / "by-hand"
    assert run(["prepare", "--out", str(out), str(project.config)]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[1].split() == ["train", "64", "64"]
    assert f"data={{type: prepared, dir: {out}}}" in printed
    assert (out / manifest.NAME).is_file()


def test_the_command_that_is_shown_has_the_layers_that_the_features_were_made_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.csv").write_text("x,y\n" + "".join(f"{row / 40},{row % 2}\n" for row in range(40)))
    config, layer, out = tmp_path / "config.yaml", tmp_path / "a layer.yaml", tmp_path / "ready"
    config.write_text(f"task: {{type: tabular, target: y}}\ndata: {tmp_path / 'rows.csv'}\n")
    layer.write_text("model: linear\n")
    argv = ["prepare", str(config), "-c", str(layer), "data.split.validation=10%", "runtime.seed=3", "--out", str(out)]
    assert run(argv) == 0
    shown = shlex.split(capsys.readouterr().out.splitlines()[-1])
    assert shown[:6] == ["burnish", "train", str(config), "-c", str(layer), "runtime.seed=3"]
    assert shown[6].startswith("data={type: prepared")
    assert run([*shown[1:], "train.length=1 step", "--dir", str(tmp_path / "run"), "--quiet"]) == 0


@pytest.mark.parametrize(
    ("options", "write", "labels"),
    [
        ("type: question_answering, max_length: 64, max_question: 5, stride: 8", write_questions, ""),
        (
            "type: token_classification, max_length: 64",
            tags.TestTokenClassification.write,
            TAGS,
        ),
    ],
    ids=["questions", "tags"],
)
def test_what_was_learned_at_places_of_a_text_comes_back_from_records(
    tmp_path: Path, tiny_bert: Path, options: str, write: Callable[[Path], None], labels: str
) -> None:
    write(tmp_path)
    train_file, dev_file = (next(tmp_path.glob(f"{name}.*")) for name in ("train", "dev"))
    config = tmp_path / "experiment.yaml"
    config.write_text(
        f"task: {{{options}}}\ndata: {{train: {train_file}, validation: {dev_file}}}\nmodel: {tiny_bert}\n"
    )
    prepare(str(config), out=tmp_path / "ready", has_tfrecord=True)
    paths = sorted((tmp_path / "ready" / "tfrecord").glob("train-*"))
    found = TfRecords(train=tuple(map(str, paths)), tokenizer=str(tiny_bert), labels=tuple(labels.split()))
    rows = [row for path in paths for row in read(DataFile(path.name, str(path)), found).rows.table.to_pylist()]
    stored = [pa.ipc.open_file(path).read_all() for path in sorted((tmp_path / "ready" / "rows").glob("train-*"))]
    wanted = pa.concat_tables(stored).select([name for name in rows[0] if name != "id"]).to_pylist()
    assert [{name: value for name, value in row.items() if name != "id"} for row in rows] == wanted
