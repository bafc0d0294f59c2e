"""A real server in a process of its own, on a free port of this machine, and artifacts to serve."""

import csv
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from burnish.testing.tiny_torch import tiny_model
from tests.project import BAD, GOOD, PLAIN, make_project

TABLE = """\
task: {type: tabular, target: tip, kind: binary}
data: {train: rides.csv, split: {validation: 20%}}
model: linear
train: {length: 20 steps, batch: 16}
runtime: {threads: 1}
"""


@dataclass(frozen=True)
class RunningServer:
    """Where it listens and how to end it."""

    process: subprocess.Popen[str]
    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end; give its exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=60)


@contextmanager
def running_server(*words: str, directory: Path, log: Path, variables: Sequence[str] = ()) -> Iterator[RunningServer]:
    """Start `burnish serve` and wait until it listens; end it if the test has not."""
    environment = {**os.environ, **dict(each.split("=", 1) for each in variables)}
    with log.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "burnish", "serve", *words, "--port", "0"],
            cwd=directory,
            stderr=stream,
            stdout=stream,
            text=True,
            env=environment,
        )
    try:
        yield RunningServer(process, _port(process, log), log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def _port(process: subprocess.Popen[str], log: Path) -> int:
    while process.poll() is None:
        found = re.search(r"serving .* on http://[^:]+:(\d+)", log.read_text())
        if found:
            return int(found[1])
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError(f"the server ended with {process.returncode}: {log.read_text()}")


def make_artifacts(root: Path, interpreter: Path) -> Path:
    """Train a text model in the folder `texts` and a table model in `rides`."""
    model = tiny_model(root / "bert", texts=(" ".join((*GOOD, *BAD, *PLAIN)),))
    project = make_project(root, model=model, rows=140, config="train: {length: 4 steps, batch: 8}\n")
    # In bfloat16 a sum in another order is seen at once: an answer must not depend on what shares its batch.
    project.config.write_text(project.config.read_text().replace("fp32", "bf16").replace("length: 24", "length: 48"))
    write_rides(root / "rides.csv", 200)
    (root / "rides.yaml").write_text(TABLE)
    for config_file, name in ((project.config, "texts"), (root / "rides.yaml", "rides")):
        command = [interpreter, "-m", "burnish", "train", str(config_file), "--dir", name, "--quiet"]
        subprocess.run(command, cwd=root, check=True, capture_output=True, timeout=240)
    return root


def write_rides(path: Path, count: int) -> None:
    draw = random.Random(1)
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["fare", "miles", "company", "cash", "tip"])
        for number in range(count):
            fare = round(draw.uniform(3, 60), 2)
            cash = draw.choice(["yes", "no"])
            row = [fare, round(fare / 3, 1), draw.choice(["Blue", "Red", "Green"]), cash]
            target = int(cash == "no" and fare > 10)
            if number % 20 < len(row) - 1:  # all but the fare may be missing
                row[1 + number % 20] = ""
            writer.writerow([*row, target])


def some_text(draw: random.Random, *, most: int = 40) -> str:
    return " ".join(draw.choices((*GOOD, *BAD, *PLAIN), k=draw.randint(1, most)))


def some_ride(draw: random.Random) -> dict[str, object]:
    ride = {"fare": round(draw.uniform(3, 60), 2), "miles": draw.uniform(0, 20), "company": "Blue", "cash": "no"}
    return {name: value for name, value in ride.items() if name == "fare" or draw.random() < 0.9}
