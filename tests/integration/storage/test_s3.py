"""A run whose data and directory are on s3:// alone: killed, resumed elsewhere, listed and scored, against moto."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish.commands.crash.sameness import find_differences
from burnish.run.record.directory import RunDirectory
from burnish.storage import manifest
from tests.harness import s3
from tests.harness.machine import Machine
from tests.harness.server import write_rides

CONFIG = """\
task: {type: tabular, target: tip, kind: binary}
data: {train: s3://tank/data/*.csv, split: {validation: 20%}, audit: off}
model: deep
train: {length: 1500 steps, batch: 16, evaluate_every: 100 steps, checkpoint_every: 100 steps, patience: null}
track: [tensorboard]
runtime: {threads: 1}
"""
ADDRESS = f"s3://{s3.BUCKET}/runs/one"

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("BURNISH_CLOUD") != "full", reason="make cloud installs moto and sets BURNISH_CLOUD=full"
    ),
    pytest.mark.timeout(600),
]


@pytest.fixture
def variables() -> Iterator[dict[str, str]]:
    with s3.moto() as variables:
        yield variables


def test_a_killed_run_goes_on_elsewhere_to_the_same_bits_and_predicts(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    here, elsewhere = (Machine(tmp_path, name, variables, python=str(s3.PYTHON)) for name in ("here", "elsewhere"))
    write_rides(tmp_path / "rides.csv", 400)
    (tmp_path / "rides.yaml").write_text(CONFIG)
    here.run("cp", "rides.csv", "s3://tank/data/rides.csv")
    here.run("train", "rides.yaml", "--dir", "local", "--quiet")
    process = here.start("train", "rides.yaml", "--dir", ADDRESS)
    here.kill_worker_after(300)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 6, output
    assert f"burnish resume {ADDRESS}" in output
    elsewhere.run("resume", ADDRESS, "--quiet")
    assert "finished" in here.run("runs", "ls", "s3://tank/runs")
    here.run("cp", ADDRESS, "found")
    found = RunDirectory(tmp_path / "found")
    assert find_differences(RunDirectory(tmp_path / "local"), found) == []
    assert manifest.fault(found.artifact) is None
    assert list((found.path / "tensorboard").rglob("events.out.tfevents.*"))
    said = elsewhere.run("predict", ADDRESS, "s3://tank/data/rides.csv", "--out", "s3://tank/out/answers.csv")
    assert "400 predictions in s3://tank/out/answers.csv" in said
    here.run("cp", "s3://tank/out/answers.csv", "answers.csv")
    assert (tmp_path / "answers.csv").read_bytes().count(b"\n") == 401
