"""What an experiment names and is not there is found before anything heavy is loaded."""

import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from burnish.commands.config import check
from burnish.commands.train import train
from burnish.engine.device import is_surely_absent
from burnish.errors import CheckpointError, ConfigError


@pytest.fixture
def config(model: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(model.parent)
    Path("tickets.csv").write_text("body,priority\nhello,low\n")
    path = model.parent / "mine.yaml"
    path.write_text(
        "task: {type: text_classification, text: body, label: priority, max_length: 32}\n"
        f"data: tickets.csv\nmodel: {model}\n"
    )
    return path


def found(config: Path, *overrides: str) -> str:
    with pytest.raises(ConfigError) as refused:
        check(str(config), overrides=overrides, has_inputs=True)
    return str(refused.value)


def passes(config: Path, *overrides: str) -> None:
    check(str(config), overrides=overrides, has_inputs=True)


def test_an_experiment_whose_inputs_are_there_has_no_problem(config: Path) -> None:
    passes(config)


def test_a_column_that_is_not_there_is_named_with_the_option_that_asks_for_it(config: Path) -> None:
    text = found(config, "task.text=bodi")
    assert "task: there is no column `bodi`. Did you mean `body`? The columns are body, priority" in text
    assert "set by task.text=bodi on the command line" in text


def test_all_that_is_missing_is_reported_at_once(config: Path) -> None:
    Path("dev.csv").write_text("body,level\nhello,low\n")
    text = found(config, "data.validation=dev.csv", "data.test=nope.csv", "runtime.device=mps", "data.also.more=no.csv")
    assert "the experiment has 4 problems" in text
    assert "there is no column `priority`" in text
    assert "in dev.csv" in text
    assert "data.also.more: there is no file no.csv" in text
    assert "runtime.device is 'mps' and this machine has none; leave it at auto" in text


def test_a_file_with_a_name_unlike_all_others_is_not_guessed_at(config: Path) -> None:
    Path("wine.csv").touch()
    here = Path.cwd()
    expected = f"data.train: there is no file nope.csv in {here}; CSV files here: tickets.csv, wine.csv; set data.dir"
    assert expected in found(config, "data.train=nope.csv")
    assert "there is no file ticket.csv. Did you mean `tickets.csv`?" in found(config, "data.train=ticket.csv")


def test_a_config_that_is_not_there_names_those_that_are(config: Path) -> None:
    with pytest.raises(ConfigError, match=rf"there is no file nope.yaml in {Path.cwd()}; YAML files here: mine.yaml"):
        check("nope.yaml")


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("data.filter.level=3", "data.filter: there is no column `level`"),
        ("data.split.by=fold", "data.split.by: there is no column `fold`"),
        ("data.split.group=[customer]", "data.split.group: there is no column `customer`"),
    ],
)
def test_columns_that_the_data_section_names(config: Path, override: str, sentence: str) -> None:
    assert sentence in found(config, override)


def test_headers_are_read_as_the_options_say(config: Path) -> None:
    Path("bare.csv").write_text("hello;low\n")
    passes(config, "data.train=bare.csv", "data.delimiter=;", "data.columns=[body, priority]")
    assert "there is no column `priority`" in found(
        config, "data.train=bare.csv", "data.delimiter=;", "data.columns=[body, level]"
    )
    assert "set data.delimiter" in found(config, "data.train=bare.csv")


def test_every_format_is_looked_at(config: Path) -> None:
    rows = [{"body": "hello", "priority": "low"}]
    Path("a.jsonl").write_text(json.dumps(rows[0]) + "\n")
    Path("b.json").write_text(json.dumps(rows))
    Path("c.csv.gz").write_bytes(gzip.compress(b"body,priority\nhello,low\n"))
    Path("f.data").write_text("body\tpriority\nhello\tlow\n")
    pa.parquet.write_table(pa.Table.from_pylist(rows), "d.parquet")
    pa.feather.write_feather(pa.Table.from_pylist(rows), "e.arrow")
    for name in ("a.jsonl", "b.json", "c.csv.gz", "d.parquet", "e.arrow"):
        passes(config, f"data.train={name}")
        assert f"there is no column `bodi`. Did you mean `body`? The columns are body, priority\n  in {name}" in found(
            config, f"data.train={name}", "task.text=bodi"
        )
    passes(config, "data.train=f.data", "data.format=tsv")


def test_the_first_sentences_of_a_file_of_tags_name_its_columns(config: Path) -> None:
    Path("tags.conll").write_text("Ann B-PER\nleft O\n\n" * 20_000)
    config.write_text("task: {type: token_classification, max_length: 32}\ndata: tags.conll\nmodel: ./model\n")
    passes(config)
    assert "there is no column `parts`" in found(config, "task.tags=parts")


def test_a_column_may_be_in_one_of_several_files(config: Path) -> None:
    Path("part1.csv").write_text("body\nhello\n")
    Path("part2.csv").write_text("priority\nlow\n")
    passes(config, "data.train=part*.csv")
    assert "in part1.csv" in found(config, "data.train=part1.csv")


def test_an_address_is_not_opened_and_the_rest_is_still_checked(config: Path) -> None:
    passes(config, "data.train=https://example.invalid/a.csv")
    passes(config, "data.train=[gs://nowhere/a.csv, tickets.csv]", "task.text=elsewhere")
    assert "no file nope.csv" in found(config, "data.train=https://example.invalid/a.csv", "data.test=nope.csv")


def test_a_table_that_lacks_many_columns_is_one_sentence(config: Path) -> None:
    names = ", ".join(f"c{number}: number" for number in range(30))
    config.write_text(
        f"task: {{type: tabular, target: priority, columns: {{{names}}}}}\ndata: tickets.csv\nmodel: linear\n"
    )
    assert "tickets.csv lacks 30 of the 31 columns of task (c0, c1, c2, …); it has body, priority" in found(config)


def test_each_of_several_tasks_is_checked(config: Path, model: Path) -> None:
    config.write_text(
        "task: {type: multi, tasks: {mood: {type: text_classification, text: bodi, label: priority}, "
        "other: {type: text_classification}}}\n"
        "data: {type: several, sets: {mood: {train: tickets.csv, filter: {level: 3}}, other: {train: nope.csv}}}\n"
        f"model: {model}\n"
    )
    text = found(config)
    assert "task.tasks.mood: there is no column `bodi`. Did you mean `body`?" in text
    assert "data.sets.mood.filter: there is no column `level`" in text
    assert "data.sets.other.train: there is no file nope.csv" in text


def test_a_model_folder_that_is_not_there_or_holds_none(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "model.name: there is no folder ./nowhere" in found(config, "model=./nowhere")
    Path("empty").mkdir()
    assert "model.name: ./empty holds no model: it has no config.json" in found(config, "model=./empty")
    assert "no package `nosuchpackage` is installed" in found(config, "model=package:nosuchpackage/model")
    assert "some/name-on-the-hub is not a folder here, has no copy" in found(config, "model=some/name-on-the-hub")
    monkeypatch.setattr("burnish.models.transformers.models_here.is_offline", lambda: False)
    passes(config, "model=some/name-on-the-hub")


def test_a_folder_of_prepared_data_that_is_not_there(config: Path) -> None:
    assert "data.dir: there is no folder prepared" in found(config, "data={type: prepared, dir: prepared}")


def test_a_task_of_ones_own_names_its_columns(config: Path) -> None:
    Path("mytask.py").write_text(
        "from burnish.tasks.text_classification.task import TextClassification\n\n"
        "class Mine(TextClassification):\n"
        "    second: str = 'title'\n\n"
        "    @property\n"
        "    def training_columns(self):\n"
        "        return (*super().training_columns, self.second)\n"
    )
    text = _cli("config", "check", str(config), "task.type=mytask:Mine")
    assert "there is no column `title`" in text.stderr
    assert text.returncode == 2


@pytest.mark.parametrize(
    ("device", "platform", "files", "environ", "expected"),
    [
        ("cuda", "linux", [], {}, True),
        ("cuda", "linux", ["nvidia0", "nvidiactl"], {}, False),
        ("cuda", "linux", ["kfd"], {}, False),
        ("cuda", "linux", ["nvidia0"], {"CUDA_VISIBLE_DEVICES": ""}, True),
        ("cuda", "linux", ["nvidia0"], {"CUDA_VISIBLE_DEVICES": "0"}, False),
        ("cuda", "win32", [], {}, False),
        ("cuda", "darwin", [], {}, True),
        ("mps", "linux", [], {}, True),
        ("mps", "darwin", [], {}, False),
        ("cpu", "linux", [], {}, False),
        ("auto", "linux", [], {}, False),
    ],
)
def test_a_device_that_cannot_be_here(
    tmp_path: Path, device: str, platform: str, files: list[str], environ: dict[str, str], expected: bool
) -> None:
    for name in files:
        (tmp_path / name).touch()
    assert is_surely_absent(device, platform=platform, folder=tmp_path, environ=environ) is expected


def test_the_check_takes_under_a_second_and_no_torch(config: Path) -> None:
    script = (
        "import sys, time; began = time.perf_counter(); from burnish.cli.main import run\n"
        "code = run(['config', 'check', *sys.argv[1:]])\n"
        "print(code, 'torch' in sys.modules, 'transformers' in sys.modules, time.process_time() < 1.0)"
    )
    for overrides, code in ((["runtime.device=cuda", "task.text=bodi"], 2), ([], 0)):
        hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
        command = [sys.executable, "-c", script, str(config), *overrides]
        said = subprocess.run(command, capture_output=True, text=True, check=True, env=hidden).stdout
        assert said.splitlines()[-1] == f"{code} False False True"


def test_train_refuses_before_a_worker_starts_and_leaves_no_run(config: Path) -> None:
    began = time.process_time()
    with pytest.raises(ConfigError, match="there is no column `bodi`"):
        train(config, overrides=["task.text=bodi"])
    assert time.process_time() - began < 1.0
    assert not Path("runs").exists()


def test_a_run_directory_that_cannot_be_made_is_named_as_given(config: Path) -> None:
    with pytest.raises(
        CheckpointError, match=r"^tickets.csv/run cannot be written to \(Not a directory\); name another"
    ):
        train(config, directory=Path("tickets.csv/run"))


def _cli(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "burnish", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)
