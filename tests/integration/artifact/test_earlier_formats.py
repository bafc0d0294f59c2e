"""An artifact of every earlier format still loads, proves itself and answers as it did when it was made."""

import json
from pathlib import Path

import pytest

from burnish.artifact.bundle import FORMAT
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


def test_one_without_a_signature_has_it_computed() -> None:
    folder = FIXTURES / "format-1"
    assert not (folder / "signature.json").exists()
    signature = Predictor.load(folder).signature
    assert [each.name for each in signature.inputs] == ["miles", "company", "night"]
    assert json.loads((folder / "MANIFEST.json").read_text())["format"] == 1
