"""An artifact of every earlier format still loads, proves itself and answers as it did when it was made."""

import json
from pathlib import Path

import pytest

from burnish.artifact.bundle import FORMAT
from burnish.artifact.locate import EngineChoice
from burnish.artifact.predictor import Predictor

FIXTURES = Path(__file__).parents[2] / "fixtures" / "artifacts"
ROWS = [{"miles": 12.0, "company": "Blue", "night": "no"}, {"miles": 3.5, "company": "Red", "night": "yes"}]
ANSWERS = [("big", 0.6572293886), ("small", 0.9943081268)]


@pytest.mark.parametrize("number", range(1, FORMAT + 1))
def test_it_answers_as_it_did(number: int) -> None:
    predictor = Predictor.load(FIXTURES / f"format-{number}")
    said = [(each.label, each.confidence) for each in predictor.predict(ROWS)]
    assert [label for label, _ in said] == [label for label, _ in ANSWERS]
    assert [share for _, share in said] == pytest.approx([share for _, share in ANSWERS], abs=1e-6)


TEXTS = [{"text": "the film is good and warm"}, {"text": "a dull plot"}]


@pytest.mark.parametrize("engine", ["torch", "onnx"])
@pytest.mark.parametrize(
    ("folder", "rows", "labels"), [("format-1", ROWS, ["big", "small"]), ("format-1-text", TEXTS, ["pos", "neg"])]
)
def test_its_variants_answer_alike(
    folder: str, rows: list[dict[str, object]], labels: list[str], engine: EngineChoice
) -> None:
    predictor = Predictor.load(FIXTURES / folder, engine=engine)
    assert [each.label for each in predictor.predict(rows)] == labels


def test_a_text_artifact_tells_its_signature() -> None:
    signature = Predictor.load(FIXTURES / "format-1-text").signature
    assert (signature.text_input, signature.max_length, signature.training_rows) == ("text", 16, 72)
    assert [(each.value, each.name) for each in signature.answer.classes] == [("neg", "negative"), ("pos", "positive")]


def test_one_without_a_signature_has_it_computed() -> None:
    folder = FIXTURES / "format-1"
    assert not (folder / "signature.json").exists()
    signature = Predictor.load(folder).signature
    assert [each.name for each in signature.inputs] == ["miles", "company", "night"]
    assert json.loads((folder / "MANIFEST.json").read_text())["format"] == 1
