"""Which engine `auto` takes: what it believes, what it measures, what it leaves out and says so."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from burnish.artifact.variants import FORMAT, digest_of, folder_of, machine, rank_engines
from burnish.errors import CheckpointError, ServeError
from burnish.storage import manifest

SPEEDS = {"torch": 1.0, "onnx": 2.0, "onnx-int8": 3.0}


@pytest.fixture
def artifact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BURNISH_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "artifact"
    path.mkdir()
    (path / "profile.json").write_text("{}")
    manifest.commit(path, {"format": 1})
    for engine in ("onnx", "onnx-int8"):
        add_variant(path, engine)
    return path


def add_variant(path: Path, engine: str, *, loss: float = 0.0, on: str = "another", speed: float = 1.0) -> None:
    folder = folder_of(path, engine)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "golden.json").write_text("{}")
    (folder / manifest.NAME).unlink(missing_ok=True)
    cost = {"one_row_seconds": 1.0, "rows_per_second": speed, "num_bytes": 1}
    proof = {
        "tasks": {"": {"rows": 9, "max_error": 0.0, "loss": loss}},
        "split": "test",
        "tolerance": 0.01,
        "torch": {**cost, "rows_per_second": 1.0},
        "own": cost,
        "machine": on,
        "processor": "any",
    }
    facts = {"variant_format": FORMAT, "engine": engine, "artifact": digest_of(path), "graphs": {}, "proof": proof}
    manifest.commit(folder, facts)


def rank(path: Path, measure: Callable[[Any], float] = SPEEDS.__getitem__) -> tuple[list[str], list[str]]:
    notes: list[str] = []
    return [*rank_engines(path, measure=measure, tell=notes.append)], notes


def failing(wrong: str, error: Exception) -> Callable[[str], float]:
    def measure(engine: str) -> float:
        if engine == wrong:
            raise error
        return SPEEDS[engine]

    return measure


def test_what_answers_otherwise_here_is_left_out_with_a_note_every_time(artifact: Path) -> None:
    measure = failing("onnx-int8", ServeError("golden rows differ by 0.4"))
    for _ in range(2):
        ranked, (note,) = rank(artifact, measure)
        assert ranked == ["onnx", "torch"]
        assert "leaves out onnx-int8: golden rows differ by 0.4" in note
        measure = failing("torch", AssertionError("what is known is not measured again"))


def test_what_cannot_be_loaded_is_tried_again(artifact: Path) -> None:
    ranked, notes = rank(artifact, failing("onnx", CheckpointError("no memory")))
    assert (ranked, len(notes)) == (["onnx-int8", "torch"], 1)
    assert rank(artifact) == (["onnx-int8", "onnx", "torch"], [])


def test_without_the_runtime_torch_answers_and_nothing_is_measured(
    artifact: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    ranked, notes = rank(artifact, failing("torch", AssertionError("there is nothing to compare it with")))
    assert ranked == ["torch"]
    assert ["pip install 'burnish[onnx]'" in note for note in notes] == [True, True]


def test_torch_that_does_not_prove_itself_is_refused(artifact: Path) -> None:
    with pytest.raises(ServeError, match="golden"):
        rank(artifact, failing("torch", ServeError("golden rows differ")))


def test_a_variant_that_was_exported_again_is_measured_again(artifact: Path) -> None:
    assert rank(artifact)[0] == ["onnx-int8", "onnx", "torch"]
    slow = {**SPEEDS, "onnx-int8": 0.5}.__getitem__
    assert rank(artifact, slow)[0] == ["onnx-int8", "onnx", "torch"]  # remembered
    add_variant(artifact, "onnx-int8", loss=0.001)
    assert rank(artifact, slow)[0] == ["onnx", "torch", "onnx-int8"]


def test_what_was_measured_here_is_believed_and_what_lost_too_much_left_alone(artifact: Path) -> None:
    add_variant(artifact, "onnx", on=machine(), speed=4.0)
    add_variant(artifact, "onnx-int8", on=machine(), speed=9.0, loss=0.5)
    assert rank(artifact, failing("torch", AssertionError("measured before")))[0] == ["onnx", "torch"]


@pytest.mark.parametrize("content", ["", "[", json.dumps({"torch": 1.0})])
def test_a_torn_memory_of_speeds_is_written_anew(artifact: Path, tmp_path: Path, content: str) -> None:
    rank(artifact)
    (file,) = (tmp_path / "cache" / "engines").iterdir()
    file.write_text(content)
    assert rank(artifact)[0] == ["onnx-int8", "onnx", "torch"]
    assert json.loads(file.read_text()) == SPEEDS
