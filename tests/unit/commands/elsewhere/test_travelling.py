"""What of this folder travels with a job: files that a command takes, and nothing that only has the name of a word."""

import json
from pathlib import Path

import pytest

from burnish.cli.main import run
from tests.harness.server import TABLE, write_rides

ON = ("--on", "vertex", "--dry-run")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("test", "linear", "tip", "tabular", "model", "train", "csv", "onnx", "org/model", "hidden"):
        Path(name).mkdir(parents=True)
        Path(name, "unrelated.bin").write_text("")
    Path("model/config.json").write_text("{}")
    write_rides(Path("rides.csv"), 40)
    Path("rides.yaml").write_text(TABLE)
    Path("more.yaml").write_text("train: {length: 30 steps}\n")
    Path("launch.yaml").write_text("spot: true\n")


def uploads(words: list[str], capsys: pytest.CaptureFixture[str]) -> set[str]:
    assert run([*words, *ON]) == 0
    sent = json.loads(capsys.readouterr().out)["uploads"]
    return {each.partition("/files/")[2] for each in sent} - {"experiment.yaml"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["evaluate", "test", "--split", "train"], {"test/unrelated.bin"}),
        (["evaluate", "test", "--in", "rides.csv"], {"test/unrelated.bin", "rides.csv"}),
        (["predict", "test", "rides.csv", "--task", "tip"], {"test/unrelated.bin", "rides.csv"}),
        (["predict", "test", "--text", "train", "--engine", "onnx"], {"test/unrelated.bin"}),
        (["train", "rides.yaml", "model=linear", "-c", "more.yaml", "-l", "launch.yaml"], {"rides.csv"}),
        (["train", "rides.yaml", "data.format=csv", "data.split.by=train"], {"rides.csv"}),
        (["train", "rides.yaml", "data.train=train", "data.format=csv"], {"train/unrelated.bin"}),
        (["train", "rides.yaml", "-l", "files=[onnx]"], {"rides.csv", "onnx/unrelated.bin"}),
        (["tune", "rides.yaml", "--start-from", "hidden"], {"rides.csv", "tune.yaml", "hidden/unrelated.bin"}),
    ],
)
def test_only_what_a_word_names_as_a_path_travels(
    words: list[str], expected: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert uploads(words, capsys) == expected


TEXT = "name: t\ntask: {type: text_classification, text: [company], label: tip}\ndata: {train: rides.csv}\n"


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("model", {"model/config.json", "model/unrelated.bin"}),
        ("hidden", set()),
        ("./hidden", {"hidden/unrelated.bin"}),
        ("org/model", {"org/model/unrelated.bin"}),
        ("org/other", set()),
    ],
)
def test_a_model_travels_if_it_is_a_folder_of_one(
    model: str, expected: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("texts.yaml").write_text(TEXT + f"model: {{name: {model}}}\n")
    assert uploads(["train", "texts.yaml"], capsys) == {"rides.csv"} | expected


def test_names_on_the_hub_are_no_folders(capsys: pytest.CaptureFixture[str]) -> None:
    Path("hub.yaml").write_text(
        TEXT.replace("train: rides.csv", "type: hub, name: tip, train: train") + "model: hidden\n"
    )
    assert uploads(["train", "hub.yaml"], capsys) == set()


def test_a_model_in_the_home_folder_is_refused_because_only_this_machine_has_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(Path.cwd()))
    Path("texts.yaml").write_text(TEXT + "model: {name: ~/hidden}\n")
    assert run(["train", "texts.yaml", *ON]) == 2
    assert "which only this machine has" in capsys.readouterr().err
