"""What must hold on a CUDA GPU: training, resuming after a kill, mixed precision, and two processes."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from burnish.commands.evaluate import evaluate
from burnish.commands.train import resume, train
from burnish.errors import BurnishError
from burnish.run.record.directory import RunDirectory
from burnish.testing.exams import read_steps
from burnish.testing.tiny_torch import tiny_model
from tests.harness.digests import digests

DEVICE = os.environ.get("BURNISH_DEVICE", "cuda")
"""The CPU, to try these tests themselves."""
NUM_DEVICES = torch.cuda.device_count() if DEVICE == "cuda" else 2
pytestmark = [pytest.mark.skipif(NUM_DEVICES == 0, reason="needs a CUDA GPU"), pytest.mark.timeout(900)]


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """A small experiment on texts, for the GPU."""
    good, bad = "a good and funny film", "a bad and dull film that nobody should see"
    rows = "\n".join(f"{good if number % 2 else bad},{number % 2}" for number in range(96))
    (tmp_path / "rows.csv").write_text(f"text,label\n{rows}\n")
    tiny = tiny_model(tmp_path / "tiny", texts=(good, bad))
    path = tmp_path / "experiment.yaml"
    path.write_text(
        "task: {type: text_classification, max_length: 32}\n"
        f"data: {{train: {tmp_path / 'rows.csv'}, split: {{validation: 24}}}}\n"
        f"model: {{name: {tiny}, dropout: 0.1}}\n"
        "optimizer: {learning_rate: 1e-2}\n"
        "train: {length: 40 steps, batch: 8, evaluate_every: 10 steps, checkpoint_every: 10 steps}\n"
        f"runtime: {{device: {DEVICE}}}\n"
    )
    return path


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_it_learns_and_its_artifact_scores_the_same(experiment: Path, tmp_path: Path, precision: str) -> None:
    result = train(experiment, overrides=[f"runtime.precision={precision}"], directory=tmp_path / "run")
    losses = [step["loss"] for step in read_steps(result.directory)]
    assert losses[-1] < 0.5 * losses[0]
    assert evaluate(str(result.directory), split="validation").scores == result.scores["validation"]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_run_that_was_stopped_ends_as_if_it_had_not_been(experiment: Path, tmp_path: Path, precision: str) -> None:
    options: dict[str, Any] = {"overrides": [f"runtime.precision={precision}"]}
    whole = train(experiment, directory=tmp_path / "whole", **options)
    part = tmp_path / "part"

    def stop(event: object) -> None:
        if getattr(event, "step", 0) == 15:
            (part / "STOP").touch()

    with suppress(BurnishError):  # stopped before its end
        train(experiment, directory=part, watch=stop, **options)
    resume(part)
    assert digests(RunDirectory(part)) == digests(RunDirectory(whole.directory))


@pytest.mark.skipif(NUM_DEVICES < 2, reason="needs two CUDA GPUs")
def test_two_gpus_take_the_steps_of_one(experiment: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"overrides": ["model.dropout=0", "runtime.precision=fp32"]}
    one = train(experiment, directory=tmp_path / "one", **options)
    two = train(experiment, directory=tmp_path / "two", processes=2, **options)
    losses = [[step["loss"] for step in read_steps(each.directory)] for each in (one, two)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)
