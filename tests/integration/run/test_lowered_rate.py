"""A rate that is lowered after a bad step is lowered from the same step on, whether the run was stopped or not."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from burnish.commands.config import check
from burnish.commands.crash.sameness import find_differences
from burnish.config import trust
from burnish.run import worker
from burnish.run.record.directory import RunDirectory
from burnish.run.record.plan import settle_plan

CONFIG = """\
task: {{type: tabular, target: y, kind: regression}}
data: {{train: {data}, split: {{validation: 0.25}}}}
model: linear
optimizer: {{type: sgd, learning_rate: 1.4}}
schedule: constant
train:
  length: 24 steps
  evaluate_every: never
  checkpoint_every: {every}
  batch: 16
  clip: null
  loss_limit: 30
  recovery: {{action: lower, factor: 0.01}}
runtime: {{threads: 1}}
"""
STOPPING = "track: [{{type: 'burnish.commands.crash.rehearsal:StopAfter', steps: {step}}}]"


@pytest.fixture(autouse=True)
def _own_signals() -> Iterator[None]:
    """Give back the handlers that a worker in this process takes."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def planned(root: Path, name: str, *, every: str) -> RunDirectory:
    draw = Random(1)
    rows = [draw.random() for _ in range(64)]
    data = root / "data.csv"
    data.write_text("x,y\n" + "".join(f"{value:.4f},{3 * value + draw.random():.4f}\n" for value in rows))
    config = root / "experiment.yaml"
    config.write_text(CONFIG.format(data=data, every=every))
    run = RunDirectory(root / name)
    settle_plan(run, check(str(config)))
    return run


def stop_after(run: RunDirectory, step: int) -> int:
    text = run.plan.read_text()
    run.plan.write_text(text.replace("track: []", STOPPING.format(step=step)))
    trust(run.plan)
    code = worker.main([str(run.path)])
    run.plan.write_text(text)
    return code


@pytest.mark.parametrize(("every", "stops"), [("5 steps", (16, 17)), ("5 steps", (3,)), ("never", (4,))])
def test_a_graceful_stop_changes_no_bit(tmp_path: Path, every: str, stops: tuple[int, ...]) -> None:
    straight = planned(tmp_path, "straight", every=every)
    assert worker.main([str(straight.path)]) == 0
    lowered = json.loads(straight.repairs.read_text())["lowered"]
    assert lowered
    stopped = planned(tmp_path, "stopped", every=every)
    for step in stops:
        assert stop_after(stopped, step) == 75
    assert worker.main([str(stopped.path)]) == 0
    assert json.loads(stopped.repairs.read_text())["lowered"] == lowered
    assert find_differences(straight, stopped) == []
