"""A run in a bucket that fails, goes away and is killed: nothing is lost, and it comes to the bits of a local run."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish.commands.crash.sameness import find_differences
from burnish.run.record.directory import RunDirectory
from burnish.storage import manifest
from tests.harness.fake_gcs import FakeBucket, fake_gcs
from tests.harness.machine import Machine
from tests.harness.server import write_rides

pytest.importorskip("gcsfs")

IS_FULL = os.environ.get("BURNISH_CLOUD") == "full"
CONFIG = """\
task: {{type: tabular, target: tip, kind: binary}}
data: {{train: {train}, split: {{validation: 20%}}, audit: off}}
model: deep
train: {{length: {steps} steps, batch: 16, evaluate_every: 500 steps, checkpoint_every: 500 steps, patience: null}}
track: [tensorboard]
runtime: {{threads: 1}}
"""
ADDRESS = "gs://tank/runs/one"


@pytest.fixture
def bucket() -> Iterator[FakeBucket]:
    with fake_gcs() as served:
        yield served


def _write_project(root: Path, bucket: FakeBucket, *, steps: int) -> None:
    write_rides(root / "rides.csv", 400)
    bucket.store("data/rides.csv", (root / "rides.csv").read_bytes())
    text = CONFIG.format(train="gs://tank/data/rides.csv", steps=steps)
    (root / "rides.yaml").write_text(text)


def _machines(root: Path, bucket: FakeBucket) -> list[Machine]:
    return [Machine(root, name, {"STORAGE_EMULATOR_HOST": bucket.url}) for name in ("here", "elsewhere")]


def _bring(bucket: FakeBucket, prefix: str, folder: Path) -> RunDirectory:
    """Write what the bucket holds to a folder without any code of ours."""
    for name, content in bucket.objects.items():
        if name.startswith(prefix):
            path = folder / name.removeprefix(prefix)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return RunDirectory(folder)


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.skipif(not IS_FULL, reason="make cloud sets BURNISH_CLOUD=full")
def test_a_killed_run_goes_on_elsewhere_while_the_bucket_fails(tmp_path: Path, bucket: FakeBucket) -> None:
    _write_project(tmp_path, bucket, steps=20_000)  # the bucket is away for 20 s, which the run must outlast
    here, elsewhere = _machines(tmp_path, bucket)
    here.run("train", "rides.yaml", "--dir", "local", "--quiet")
    bucket.fail_share = 0.1
    process = here.start("train", "rides.yaml", "--dir", ADDRESS)
    here.kill_worker_after(900)
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 6, output
    assert f"burnish resume {ADDRESS}" in output
    reached = max(int(path.name[5:]) for path in here.state.glob("spool/*/one/checkpoints/step-*"))
    process = here.start("resume", ADDRESS)
    away = threading.Timer(4, lambda: setattr(bucket, "is_away", True))
    back = threading.Timer(24, lambda: setattr(bucket, "is_away", False))
    away.start()
    back.start()
    back.join()
    here.kill_worker_after(reached)
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 6, output
    elsewhere.run("resume", ADDRESS, "--quiet")
    found = _bring(bucket, "runs/one/", tmp_path / "found")
    assert find_differences(RunDirectory(tmp_path / "local"), found) == []
    assert manifest.fault(found.artifact) is None
    assert found.status() == "finished"


def test_a_run_in_a_bucket_can_be_looked_at_scored_and_copied_from_elsewhere(
    tmp_path: Path, bucket: FakeBucket
) -> None:
    _write_project(tmp_path, bucket, steps=60)
    here, elsewhere = _machines(tmp_path, bucket)
    here.env["AIP_MODEL_DIR"] = "gs://tank/model/"
    here.run("train", "rides.yaml", "--dir", ADDRESS, "--quiet")
    output = elsewhere.run("predict", ADDRESS, "gs://tank/data/rides.csv", "--out", "gs://tank/out/answers.csv")
    assert "400 predictions in gs://tank/out/answers.csv" in output
    assert bucket.objects["out/answers.csv"].count(b"\n") == 401
    elsewhere.run("cp", "gs://tank/model", "model")
    assert manifest.fault(tmp_path / "model") is None
    assert sorted(name for name in bucket.objects if "lock" in name or "STOP" in name) == []
