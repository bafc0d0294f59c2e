"""Traces a tiny run: how many functions, files and packages the way from the plan to the first loss passes through.

`python -m bench.trace_run` trains 160 rows and prints the figures; `--list` adds every function in the order of its
first call. A newcomer who follows a row reads that way, so it should be short.
"""

import argparse
import csv
import inspect
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

SOURCE = Path(__file__).parents[1] / "src" / "burnish"
_ROWS = 160
_WORDS = {"good": ("warm", "lovely", "superb"), "bad": ("dull", "awful", "grim")}
_CONFIG = """\
task: {type: text_classification, max_length: 24}
data: {train: rows.csv, split: {validation: 32, test: 32}}
model: ./model
train: {length: 2 steps, batch: 8}
"""
_STEP = "Learner.step"
"""Its first return is the first loss."""


@dataclass(frozen=True)
class Way:
    """What was called on the way, each function once."""

    functions: int
    files: int
    switches: int
    """How often the next function that is new is one of another package."""


@dataclass
class Tracer:
    """Note each function of the package when it is first called, and where the run was by then."""

    predictions: Path
    calls: list[tuple[str, str]] = field(default_factory=list)
    """File and name."""
    until_loss: int | None = None
    until_predictions: int | None = None
    _seen: set[CodeType] = field(default_factory=set)

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Be called for every call and return of a thread."""
        code = frame.f_code
        if event == "return" and self.until_loss is None and code.co_qualname == _STEP:
            self.until_loss = len(self.calls)
        if event != "call" or code in self._seen:
            return
        self._seen.add(code)
        is_function = bool(code.co_flags & inspect.CO_NEWLOCALS) and not code.co_name.startswith("<")
        if not is_function or not code.co_filename.startswith(f"{SOURCE}{os.sep}"):
            return  # the body of a class or a module, a comprehension, or somebody else's
        if self.until_predictions is None and self.until_loss is not None and any(self.predictions.rglob("*.parquet")):
            self.until_predictions = len(self.calls)
        self.calls.append((os.path.relpath(code.co_filename, SOURCE), code.co_qualname))

    def way(self, number: int | None) -> Way:
        """Count over the first so many functions."""
        taken = self.calls[:number]
        packages = [file.partition(os.sep)[0] for file, _ in taken]
        switches = sum(before != after for before, after in pairwise(packages))
        return Way(len(taken), len({file for file, _ in taken}), switches)


def trace(folder: Path) -> dict[str, Any]:
    """Train in a worker process of its own below a folder; give the figures and the list of functions."""
    from burnish.config import load
    from burnish.run.record.directory import RunDirectory
    from burnish.run.record.plan import settle_plan
    from burnish.testing.tiny_torch import tiny_model

    draw = random.Random(0)
    with (folder / "rows.csv").open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["text", "label"])
        for number in range(_ROWS):
            label = ("good", "bad")[number % 2]
            rows.writerow([f"the film was {draw.choice(_WORDS[label])} number {number}", label])
    tiny_model(folder / "model", texts=("the film was number", *map(" ".join, _WORDS.values())))
    (folder / "tiny.yaml").write_text(_CONFIG)
    run = RunDirectory(folder / "run")
    before = os.getcwd()
    os.chdir(folder)
    try:
        settle_plan(run, load("tiny.yaml"))
    finally:
        os.chdir(before)
    environment = {**os.environ, "BURNISH_CACHE": str(folder / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "bench.trace_run", "--worker", str(run.path)]
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(ended.stdout + ended.stderr)
    figures: dict[str, Any] = json.loads((folder / "trace.json").read_text())
    return figures


def _work(run: Path) -> int:
    tracer = Tracer(run / "predictions")
    threading.setprofile(tracer)
    sys.setprofile(tracer)
    from burnish.run.worker import main

    code = main([str(run)])
    sys.setprofile(None)
    ways = {"loss": tracer.way(tracer.until_loss), "predictions": tracer.way(tracer.until_predictions)}
    figures = {name: asdict(way) for name, way in ways.items()}
    (run.parent / "trace.json").write_text(json.dumps({**figures, "calls": tracer.calls}))
    return code


def main(argv: Sequence[str]) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help="show every function in the order of its first call")
    asked = parser.parse_args(argv)
    if asked.worker:
        return _work(asked.worker)
    with tempfile.TemporaryDirectory() as folder:
        figures = trace(Path(folder))
    for until in ("loss", "predictions"):
        way = Way(**figures[until])
        print(f"until the {until}: {way.functions} functions, {way.files} files, {way.switches} switches of package")
    if asked.list:
        print(*(f"{file}: {name}" for file, name in figures["calls"]), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
