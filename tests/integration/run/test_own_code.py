"""A task and a model from outside of the package: by entry point and by address, trained, answered and missed."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish.artifact.answering import answer
from burnish.artifact.predictor import Predictor
from burnish.commands.config import check
from burnish.commands.predict import predict
from burnish.commands.train import resume, train
from burnish.errors import CheckpointError, ConfigError
from burnish.registry import default_registry
from burnish.run.record.result import RunResult

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "plugin"
KINDS = ("tasks", "models", "truncations")
TICKET = {"subject": "Refund 5", "body": "The customer 3 was charged twice since day 8."}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The example as an installed package, in a folder of its own."""
    target = tmp_path_factory.mktemp("installed")
    options = ["--quiet", "--no-build-isolation", "--no-deps", "--no-index", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(EXAMPLE)], check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(target)
        default_registry.cache_clear()
        yield target
    forget()


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, installed: Path) -> RunResult:
    config = tmp_path_factory.mktemp("project") / "experiment.yaml"
    text = (EXAMPLE / "experiment.yaml").read_text().replace("train: tickets.csv", f"train: {EXAMPLE}/tickets.csv")
    config.write_text(text.replace('"tickets:Tickets"', "tickets").replace('"tickets:Reader"', "reader"))
    return train(str(config), directory=config.parent / "run")


def forget() -> None:
    sys.modules.pop("tickets", None)
    default_registry.cache_clear()


def test_names_come_from_the_package(installed: Path) -> None:
    listed = {each.name: each.provider for kind in KINDS for each in default_registry().names(kind)}
    assert (listed["tickets"], listed["reader"], listed["middle"]) == ("burnish-tickets",) * 3


def test_a_named_experiment_of_the_package_uses_its_names(installed: Path) -> None:
    experiment = check("tickets/queues", overrides=[f"data.train={EXAMPLE}/tickets.csv"]).experiment
    assert type(experiment.task).__name__ == "Tickets"
    assert experiment.task.truncation.select(10, limit=4, random=None)[0].tolist() == [3, 4, 5, 6]


def test_it_learns_and_predicts_by_its_own_columns(trained: RunResult) -> None:
    assert trained.scores["test"]["accuracy"].value >= 0.9
    [said] = predict(str(trained.directory), [TICKET])
    assert said.label == "billing"
    assert predict(str(trained.directory), [{"text": "Refund 5", "pair": TICKET["body"]}]) == [said]


def test_its_own_tokenizer_config_and_layers_are_in_the_artifact(trained: RunResult) -> None:
    predictor = Predictor.load(trained.directory / "artifact")
    other = {**TICKET, "subject": "Refund 9"}
    assert predictor.predict([TICKET]) == predictor.predict([other])  # digits tell nothing
    config = json.loads((trained.directory / "artifact" / "model" / "config.json").read_text())
    assert config["num_hidden_layers"] == 1
    assert predictor.experiment.model.layers == 1


def test_serving_formats_ask_for_its_columns(trained: RunResult) -> None:
    predictor = Predictor.load(trained.directory / "artifact")
    said = answer(predictor, json.dumps([TICKET]).encode(), format="json")
    assert json.loads(said.body)["predictions"][0]["predicted"] == "billing"


def test_an_artifact_names_the_code_it_needs_and_says_so_where_that_is_not(
    trained: RunResult, installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = json.loads((trained.directory / "artifact" / "MANIFEST.json").read_text())["code"]
    assert [each["address"] for each in named] == ["tickets:Tickets", "tickets:Reader"]
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each != str(installed)])
    forget()
    with pytest.raises(CheckpointError, match=r"tickets:Tickets \(package burnish-tickets 0\.1\.0\)"):
        predict(str(trained.directory), [TICKET])
    with pytest.raises(ConfigError, match="no task is called 'tickets'"):
        resume(trained.directory)
    monkeypatch.undo()
    forget()


def test_an_address_is_found_in_the_folder_that_the_command_is_started_from(tmp_path: Path) -> None:
    for name in ("tickets.py", "tickets.csv", "experiment.yaml"):
        (tmp_path / name).write_bytes((EXAMPLE / name).read_bytes())
    # as the script `burnish` is started: without the working directory on the path
    started = "import sys; sys.path.pop(0); from burnish.cli.main import main; main()"
    command = [sys.executable, "-c", started, "config", "check", "./experiment.yaml"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    (tmp_path / "tickets.py").unlink()
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode == 2
    assert "No module named 'tickets'; it must lie in the folder that burnish is started from" in told.stderr
