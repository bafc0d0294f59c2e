"""A run that nobody disturbed, a server that starts workers by the hundred, and the count of what was done to them."""

import os
import re
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from burnish.commands.config import check
from burnish.commands.crash.sameness import find_differences
from burnish.commands.train import read_result
from burnish.config import Resolved
from burnish.run.record.directory import RunDirectory
from burnish.run.record.ending import COMPLETE
from burnish.run.record.plan import settle_plan
from burnish.storage import manifest
from burnish.testing.tiny_torch import tiny_model
from tests.harness.digests import digests
from tests.harness.faults import Fault, Point, read_trace
from tests.harness.fork_server import Attempt, ForkServer, fork_server
from tests.project import BAD, GOOD, PLAIN, make_project

IS_FULL = os.environ.get("BURNISH_FAULTS") == "full"
COUNTED = ("kills", "resumes", "mismatches")
BUILDING = re.compile(r"checkpoints/\.step-\d+(?!.*doomed)")
CONFIG = """\
optimizer: {learning_rate: 3e-3}
schedule: {type: linear, warmup: 4 steps}
train:
  length: 4 epochs
  batch: 8
  accumulate: 2
  ema: 0.9
  evaluate_every: 4 steps
  checkpoint_every: 3 steps
  select: f1
  patience: 3
  keep: 2
"""


@dataclass
class Tally:
    """What was done to runs in one test, and how often the result was not the same bits."""

    kills: int = 0
    resumes: int = 0
    mismatches: int = 0


@dataclass(frozen=True)
class Scene:
    """One experiment, what it comes to undisturbed, and the calls that its worker passes through on the way."""

    root: Path
    server: ForkServer
    undisturbed: RunDirectory
    expected: dict[str, str]
    points: list[Point]
    seconds: float

    def plan(self, name: str, *overrides: str) -> RunDirectory:
        run = RunDirectory(self.root / name)
        settle_plan(run, check(str(self.undisturbed.plan), overrides=overrides))
        return run

    def start(
        self, run: RunDirectory, tally: Tally, *, fault: Fault | None = None, change: str | None = None
    ) -> Attempt:
        tally.resumes += run.events.exists()
        return self.server.start(run.path, output=run.path / "output.txt", fault=fault, change=change)

    def points_of_save(self, number: int) -> list[Point]:
        """Give every call from the first one in a new checkpoint to the first one in the next."""
        steps = dict.fromkeys(match[0] for point in self.points if (match := BUILDING.search(point.path)))
        firsts = [next(n for n, point in enumerate(self.points) if step in point.path) for step in steps]
        return self.points[firsts[number] : firsts[number + 1]]

    def resume(self, run: RunDirectory, tally: Tally) -> None:
        """Go on as `burnish resume` does: a run that has ended is left alone."""
        if not is_complete(run):
            attempt = self.start(run, tally)
            assert attempt.wait() == 0, attempt.output.read_text()[-3000:]

    def killed(self, run: RunDirectory, fault: Fault, tally: Tally, *, change: str | None = None) -> None:
        """Let a worker die at a call; it may come to its end before."""
        attempt = self.start(run, tally, fault=fault, change=change)
        code = attempt.wait()
        assert code in (0, -signal.SIGKILL), attempt.output.read_text()[-3000:]
        tally.kills += code == -signal.SIGKILL

    def assert_same(self, run: RunDirectory, tally: Tally) -> None:
        found = digests(run)
        tally.mismatches += found != self.expected
        assert found == self.expected, [str(each) for each in find_differences(self.undisturbed, run)]
        checkpoints = list(run.checkpoints.glob("step-*"))
        assert checkpoints
        assert [manifest.fault(each) for each in checkpoints] == [None] * len(checkpoints)
        assert is_complete(run)


def is_complete(run: RunDirectory) -> bool:
    return read_result(run).reason in COMPLETE


@pytest.fixture(scope="session")
def scene(tmp_path_factory: pytest.TempPathFactory, _own_cache: Path) -> Iterator[Scene]:
    root = tmp_path_factory.mktemp("faults")
    model = tiny_model(root / "bert", texts=(" ".join((*GOOD, *BAD, *PLAIN)),))
    project = make_project(root, model=model, rows=144, config=CONFIG)
    overrides = ["task.max_length=12", "task.truncation={type: random_spans, span: 2}"]
    resolved = check(str(project.config), overrides=overrides)
    with fork_server() as server:
        yield undisturbed(root / "runs", server, resolved)


@pytest.fixture(scope="session")
def halfway(scene: Scene) -> RunDirectory:
    """A run that was killed when it had two good checkpoints."""
    run = scene.plan("halfway")
    fault = next(point for point in scene.points_of_save(2) if point.kind == "tensors")
    assert scene.start(run, Tally(), fault=Fault(fault.kind, fault.number)).wait() == -signal.SIGKILL
    assert len(whole(run)) == 2
    return run


def copy_of(run: RunDirectory, name: str) -> RunDirectory:
    shutil.copytree(run.path, run.path.with_name(name))
    return RunDirectory(run.path.with_name(name))


def whole(run: RunDirectory) -> list[Path]:
    return sorted(run.checkpoints.glob("step-*"))


def undisturbed(root: Path, server: ForkServer, resolved: Resolved, *, is_cached: bool = False) -> Scene:
    for name in ("undisturbed",) if is_cached else ("first", "undisturbed"):  # the first one fills the cache
        run = RunDirectory(root / name)
        settle_plan(run, resolved)
        trace = root / f"{name}.trace"
        began = time.monotonic()
        attempt = server.start(run.path, output=run.path / "output.txt", trace=trace)
        assert attempt.wait() == 0, attempt.output.read_text()
    return Scene(root, server, run, digests(run), read_trace(trace), time.monotonic() - began)


@pytest.fixture
def tally(record_property: Any) -> Iterator[Tally]:
    counted = Tally()
    yield counted
    for name in COUNTED:
        record_property(name, getattr(counted, name))


@pytest.fixture
def draw(request: pytest.FixtureRequest) -> Random:
    return Random(request.node.name)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reports = [report for found in terminalreporter.stats.values() for report in found if hasattr(report, "when")]
    properties = [each for report in reports if report.when == "teardown" for each in report.user_properties]
    totals = {name: sum(value for key, value in properties if key == name) for name in COUNTED}
    if totals["kills"]:
        told = ", ".join(f"{count} {name}" for name, count in totals.items())
        terminalreporter.write_line(f"faults: {told}")
