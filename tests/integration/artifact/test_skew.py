"""An artifact in which something was changed after training is refused, even when its manifest agrees."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer, pipeline

from burnish.artifact.predictor import Predictor
from burnish.errors import ServeError
from burnish.storage import manifest
from tests.integration.artifact.test_signature import trained
from tests.project import BAD, GOOD

pytestmark = pytest.mark.usefixtures("quick_workers")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    rows = [{"text": f"{(GOOD if n % 2 else BAD)[n % 4]} " + "the film is " * 3, "label": n % 2} for n in range(64)]
    config = (
        f"task: {{type: text_classification, max_length: 24}}\nmodel: {tiny_bert}\noptimizer: {{learning_rate: 3e-3}}"
    )
    return trained(tmp_path_factory.mktemp("text"), rows, config)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [{"area": 20.5 + n % 17, "town": ("Bonn", "Köln")[n % 2], "price": 10.0 * (n % 17)} for n in range(64)]
    config = "task: {type: tabular, target: price}\nmodel: linear\noptimizer: {learning_rate: 0.1}"
    return trained(tmp_path_factory.mktemp("table"), rows, config)


def spoilt(artifact: Path, to: Path, spoil: Callable[[Path], object]) -> Path:
    """Copy an artifact, change it, and sign it again."""
    copy = shutil.copytree(artifact, to / "copy")
    spoil(copy)
    facts = {name: value for name, value in (manifest.read(copy) or {}).items() if name != "files"}
    manifest.commit(copy, facts)
    return copy


def change_json(path: Path, change: Callable[[Any], object]) -> None:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def shorten(copy: Path) -> None:
    path = copy / "experiment.yaml"
    assert "max_length: 24" in path.read_text()
    path.write_text(path.read_text().replace("max_length: 24", "max_length: 6"))


def swap_words(copy: Path) -> None:
    def swap(content: Any) -> None:
        ids = content["model"]["vocab"]
        for good, bad in zip(GOOD, BAD, strict=True):
            ids[good], ids[bad] = ids[bad], ids[good]

    change_json(copy / "model" / "tokenizer.json", swap)


def change_weight(copy: Path) -> None:
    path = copy / "model" / "model.safetensors"
    tensors = load_file(path)
    tensors["classifier.bias"] = tensors["classifier.bias"].copy()
    tensors["classifier.bias"].view("uint8")[3] ^= 0x40  # one byte of one weight: its exponent
    save_file(tensors, path, metadata={"format": "pt"})


def plan_of(content: Any, column: str) -> Any:
    return next(each for each in content["facts"]["table"]["columns"] if each["name"] == column)


def swap_categories(copy: Path) -> None:
    change_json(copy / "profile.json", lambda content: plan_of(content, "town")["vocabulary"].reverse())


def move_statistic(copy: Path) -> None:
    def move(content: Any) -> None:
        (number,) = (each for each in content["facts"]["table"]["numbers"] if each["part"] == "value")
        number["scaling"]["points"] = [point + 5 for point in number["scaling"]["points"]]
        number["scaling"]["centre"] += 5

    change_json(copy / "profile.json", move)


@pytest.mark.parametrize("spoil", [shorten, swap_words, change_weight])
def test_a_text_model_that_was_changed_is_refused(text: Path, tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    with pytest.raises(ServeError, match="does not predict as it did when it was saved"):
        Predictor.load(spoilt(text, tmp_path, spoil))


@pytest.mark.parametrize("spoil", [swap_categories, move_statistic])
def test_a_table_model_that_was_changed_is_refused(table: Path, tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    with pytest.raises(ServeError, match="does not predict as it did when it was saved"):
        Predictor.load(spoilt(table, tmp_path, spoil))


def test_a_copy_that_was_only_signed_again_is_loaded(text: Path, tmp_path: Path) -> None:
    assert Predictor.load(spoilt(text, tmp_path, lambda _copy: None))


def test_transformers_reads_the_model_and_answers_alike(text: Path) -> None:
    asked = [f"{word} film" for word in (*GOOD, *BAD)]
    ours = Predictor.load(text).predict([{"text": each} for each in asked])
    theirs = pipeline("text-classification", model=str(text / "model"))(asked)
    assert [each["label"] for each in theirs] == [each.label for each in ours]
    assert [each["score"] for each in theirs] == pytest.approx([each.confidence for each in ours], abs=5e-3)
    model = AutoModelForSequenceClassification.from_pretrained(text / "model")
    assert model.config.id2label == {0: "0", 1: "1"}
    logits = model(**AutoTokenizer.from_pretrained(text / "model")(asked, padding=True, return_tensors="pt")).logits
    assert logits.softmax(dim=-1)[:, 1].tolist() == pytest.approx([each.probabilities["1"] for each in ours], abs=5e-3)
