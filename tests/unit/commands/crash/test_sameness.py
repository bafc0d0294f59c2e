"""Two runs are the same when every bit is, and what differs is named where it first does."""

import json
import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from burnish.commands.crash.sameness import compare_environments, find_differences
from burnish.run.record.directory import RunDirectory
from tests.harness.digests import digests

STEPS = [{"event": "stepped", "step": step, "loss": 0.5 / step} for step in (1, 2, 3)]


def make(root: Path, name: str) -> RunDirectory:
    """Write a run as small as can be compared."""
    run = RunDirectory(root / name)
    folder = run.checkpoints / "step-00000003"
    folder.mkdir(parents=True)
    write_tensors(folder / "weights.safetensors", {"a": b"\x00\x00\x80\x3f", "b": b"\x00\x00\x00\x40"})
    (folder / "state.json").write_text(json.dumps({"cursor": {"batch": 3}, "train": {"position": {"minutes": name}}}))
    (folder / "MANIFEST.json").write_text(name)
    write_events(run, STEPS)
    run.predictions.mkdir()
    pq.write_table(pa.table({"row": [0, 1], "confidence": [0.25, 0.5]}), run.predictions / "test.parquet")
    run.scores.write_text(json.dumps({"headline": "accuracy", "scores": {"test": {"accuracy": {"value": 0.5}}}}))
    return run


def write_tensors(path: Path, tensors: dict[str, bytes]) -> None:
    header, place = {}, 0
    for name, content in tensors.items():
        header[name] = {"dtype": "F32", "shape": [1], "data_offsets": [place, place + len(content)]}
        place += len(content)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(tensors.values()))


def write_events(run: RunDirectory, events: list[dict[str, object]], *, threads: str = "1") -> None:
    facts = {"environment": {"torch": "2.9", "threads": threads}}
    started = {"event": "started", "step": 0, "total_steps": 3, "facts": facts}
    lines = [{**event, "time": hash(run.name) % 1000, "attempt": 1} for event in (started, *events)]
    run.events.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture
def pair(tmp_path: Path) -> tuple[RunDirectory, RunDirectory]:
    return make(tmp_path, "left"), make(tmp_path, "right")


def test_runs_that_differ_only_in_their_clocks_are_the_same(pair: tuple[RunDirectory, RunDirectory]) -> None:
    left, right = pair
    assert find_differences(left, right) == []
    assert digests(left) == digests(right)
    assert len(digests(left)) == 5


def test_the_first_tensor_that_differs_is_named(pair: tuple[RunDirectory, RunDirectory]) -> None:
    left, right = pair
    path = right.checkpoints / "step-00000003" / "weights.safetensors"
    write_tensors(path, {"a": b"\x00\x00\x80\x3f", "b": b"\x01\x00\x00\x40"})
    assert [str(each) for each in find_differences(left, right)] == [
        "step-00000003/weights.safetensors: tensor b (F32 [1]) differs"
    ]


def test_the_place_in_the_data_is_compared(pair: tuple[RunDirectory, RunDirectory]) -> None:
    left, right = pair
    (right.checkpoints / "step-00000003" / "state.json").write_text(json.dumps({"cursor": {"batch": 4}}))
    assert [str(each) for each in find_differences(left, right)] == [
        "step-00000003/state.json: cursor.batch is 3 and 4"
    ]


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([STEPS[0], {**STEPS[1], "loss": 0.26}, STEPS[2]], "stepped 2: loss is 0.25 and 0.26"),
        ([STEPS[0], STEPS[2]], "the first run has stepped 2: loss where the second has stepped 3: loss"),
        ([*STEPS, STEPS[2]], "stepped 3: loss is only in the second run"),
    ],
)
def test_a_changed_lost_or_doubled_step_is_named(
    pair: tuple[RunDirectory, RunDirectory], events: list[dict[str, object]], told: str
) -> None:
    left, right = pair
    write_events(right, events)
    assert [str(each) for each in find_differences(left, right)] == [f"events.jsonl: {told}"]


def test_predictions_and_scores_are_compared_by_content(pair: tuple[RunDirectory, RunDirectory]) -> None:
    left, right = pair
    pq.write_table(pa.table({"row": [0, 1], "confidence": [0.25, 0.75]}), right.predictions / "test.parquet")
    right.scores.write_text(json.dumps({"headline": "accuracy", "scores": {"test": {"accuracy": {"value": 0.6}}}}))
    assert [str(each) for each in find_differences(left, right)] == [
        "predictions/test.parquet: confidence of row 1 is 0.5 and 0.75",
        "scores.json: scores.test.accuracy.value is 0.5 and 0.6",
    ]


def test_times_are_not_compared(pair: tuple[RunDirectory, RunDirectory]) -> None:
    for number, run in enumerate(pair):
        took = {"ridge": {"fit_seconds": 1.5 + number, "predict_seconds": 0.5 + number}}
        run.scores.write_text(json.dumps({"headline": "accuracy", "times": took}))
    assert find_differences(*pair) == []


def test_a_file_that_only_one_run_has_is_named(pair: tuple[RunDirectory, RunDirectory]) -> None:
    left, right = pair
    right.scores.unlink()
    assert [str(each) for each in find_differences(left, right)] == ["scores.json: only the first run has it"]


def test_what_differs_in_the_environment_is_named(pair: tuple[RunDirectory, RunDirectory]) -> None:
    left, right = pair
    write_events(right, STEPS, threads="2")
    assert compare_environments(left, right) == ["threads was 1 and is 2"]
