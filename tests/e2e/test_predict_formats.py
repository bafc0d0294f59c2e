"""`burnish predict --format` on a model trained for real: the same answers to the same rows."""

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest

from burnish.data.codecs.example import Feature, serialise_example
from burnish.testing.tiny_torch import tiny_model
from tests.project import BAD, GOOD, PLAIN, make_project

TEXTS = ["a good, warm film", 'a "dull" plot\nand a cold cast', "the story is funny"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("formats")
    model = tiny_model(root / "bert", texts=(" ".join((*GOOD, *BAD, *PLAIN)),))
    project = make_project(root, model=model, rows=140, config="train: {length: 4 steps, batch: 8}\n")
    answer = burnish("train", str(project.config), "--dir", "run", "--quiet", directory=root)
    assert answer.returncode == 0, answer.stderr
    return root


def burnish(*words: str, directory: Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "burnish", *words]
    return subprocess.run(command, cwd=directory, capture_output=True, input=given, timeout=240)


def test_json_and_examples_get_the_same_answers(trained: Path) -> None:
    rows = [{"text": text, "id": number} for number, text in enumerate(TEXTS)]
    answer = burnish("predict", "run", "--format", "json", directory=trained, given=json.dumps(rows).encode())
    assert (answer.returncode, answer.stderr) == (0, b"ignored, because the model has no such column: id\n")
    expected = json.loads(answer.stdout)["predictions"]
    assert [set(each) for each in expected] == [{"predicted", "confidence", "probabilities"}] * 3

    messages = [serialise_example({"text": Feature("bytes", (text.encode(),))}) for text in TEXTS]
    lines = b"\n".join([*map(base64.b64encode, messages), b"????"])
    answer = burnish("predict", "run", "--format", "example", "--bad-rows", "skip", directory=trained, given=lines)
    said = "row 4 (line 4): '????' is not base64"
    assert answer.stderr.decode() == f"skipped {said}\n"
    assert [json.loads(line) for line in answer.stdout.splitlines()] == [*expected, {"error": said}]
