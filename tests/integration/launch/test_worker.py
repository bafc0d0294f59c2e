"""The worker of a job beside a bucket that fails: what the command leaves arrives, whatever requests fail."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from burnish.launch.plan import JobPlan
from tests.harness.fake_gcs import fake_gcs
from tests.harness.server import write_rides

pytest.importorskip("gcsfs", reason="the extra `gcp` brings it")


# Google's client tries again by itself for about a minute.
COUNT, AWAY_SECONDS = (12, 100) if os.environ.get("BURNISH_CLOUD") == "full" else (5, 4)


def test_outputs_arrive_though_uploads_fail_and_the_bucket_is_away_at_the_end(tmp_path: Path) -> None:
    with fake_gcs() as bucket:
        for number in range(COUNT):
            bucket.store(f"from/{number}", f"{number}".encode() * 1000)
        bucket.store("jobs/one/job.json", JobPlan(("cp", "gs://tank/from", "outputs/to")).write())
        bucket.fail_share = 0.3
        command = [sys.executable, "-m", "burnish.launch.worker", "gs://tank/jobs/one/job.json"]
        environment = {**os.environ, "STORAGE_EMULATOR_HOST": bucket.url, "BURNISH_STATE": str(tmp_path / "state")}
        with subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            assert process.stdout is not None
            said = next(line for line in process.stdout if "copied" in line)  # the command is at its end
            bucket.is_away = True
            back = threading.Timer(AWAY_SECONDS, lambda: setattr(bucket, "is_away", False))
            back.start()
            said += process.stdout.read()
        back.join()
        assert process.returncode == 0, said
        assert {bucket.objects.get(f"jobs/one/outputs/to/{number}") for number in range(COUNT)} == {
            f"{number}".encode() * 1000 for number in range(COUNT)
        }
        assert b'"exit_code": 0' in bucket.objects["jobs/one/result.json"]


def test_the_command_of_a_job_finds_modules_that_travelled_with_it(tmp_path: Path) -> None:
    folder, machine = tmp_path / "job" / "files", tmp_path / "machine"
    folder.mkdir(parents=True)
    machine.mkdir()
    (folder / "features.py").write_text("def tax(fare: float) -> float:\n    return fare / 10\n")
    derived = "derived: {tax: {function: 'features:tax', inputs: {fare: number}}}"
    (folder / "x.yaml").write_text(
        f"task: {{type: tabular, target: tip, {derived}}}\ndata: {{train: rides.csv, split: {{validation: 20%}}}}\n"
    )
    words = ("train", "x.yaml", "--dir", "outputs/run", "model=linear", "train.length=2 steps")
    (folder.parent / "job.json").write_bytes(JobPlan(words, max_restarts=0).write())
    write_rides(folder / "rides.csv", 60)
    command = [sys.executable, "-m", "burnish.launch.worker", f"file://{folder.parent}/job.json"]
    found = subprocess.run(command, cwd=machine, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
