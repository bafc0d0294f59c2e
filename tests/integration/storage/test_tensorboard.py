"""TensorBoard itself, on a bucket: it shows what a run has uploaded, and what it uploads after that."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.harness.fake_gcs import FakeBucket, fake_gcs

pytest.importorskip("gcsfs")
pytest.importorskip("tensorboard")

pytestmark = pytest.mark.skipif(os.environ.get("BURNISH_CLOUD") != "full", reason="make cloud sets BURNISH_CLOUD=full")
FOLDER = "runs/one/tensorboard"


@contextmanager
def tensorboard(bucket: FakeBucket, log: Path) -> Iterator[str]:
    """Start it as the how-to says, and give its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = f"gs://{bucket.name}/{FOLDER}"
    words = ["--load_fast=false", "--logdir", place, "--port", str(port), "--reload_interval", "1"]
    variables = {"STORAGE_EMULATOR_HOST": bucket.url, "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false"}
    with log.open("w") as stream:
        command = [sys.executable, "-m", "tensorboard.main", *words]
        process = subprocess.Popen(command, env={**os.environ, **variables}, stdout=stream, stderr=stream)
    try:
        yield f"http://127.0.0.1:{port}/data/plugin/scalars/scalars?run=.&tag=train/loss"
    finally:
        process.terminate()
        process.wait()


def read_points(url: str, count: int) -> list[list[Any]]:
    """Ask until it shows so many points, or for a minute."""
    points: list[list[Any]] = []
    for _ in range(240):
        try:
            with urllib.request.urlopen(url) as answer:
                points = json.loads(answer.read())
        except OSError:  # it is starting, or knows nothing of the run
            pass
        if len(points) >= count:
            break
        time.sleep(0.25)
    return points


def test_the_curves_of_a_run_in_a_bucket_are_shown_as_they_grow(tmp_path: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(tmp_path / "events"))  # type: ignore[no-untyped-call]
    with fake_gcs() as bucket, tensorboard(bucket, tmp_path / "log") as url:
        for last in (3, 6):
            for step in range(last - 3, last):
                writer.add_scalar("train/loss", 1 / (step + 1), step)  # type: ignore[no-untyped-call]
            writer.flush()  # type: ignore[no-untyped-call]
            (events,) = (tmp_path / "events").iterdir()
            bucket.store(f"{FOLDER}/{events.name}", events.read_bytes())  # whole, as a run does it
            points = read_points(url, last)
            assert [point[1] for point in points] == [*range(last)], (tmp_path / "log").read_text()
    writer.close()  # type: ignore[no-untyped-call]
