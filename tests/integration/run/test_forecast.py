"""`burnish plan` foresees what the run then comes to."""

import json
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.commands.config import check
from burnish.commands.plan import plan
from burnish.commands.train import train
from burnish.errors import BurnishError
from burnish.run.forecast import forecast, typical_seconds
from burnish.run.record.directory import RunDirectory
from burnish.run.record.plan import read_plan, settle_plan
from burnish.spec.events import Evaluated, Event, Started
from tests.project import Project, make_project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Project:
    return make_project(tmp_path_factory.mktemp("forecast"), model=tiny_bert)


def test_it_counts_what_the_run_counts(project: Project) -> None:
    overrides = ["train.evaluate_every=0.5 epochs"]
    told = plan(project.config, overrides=overrides, directory=project.run("planned"))
    assert not project.run("planned").exists()
    events: list[Event] = []
    began = time.monotonic()
    result = train(project.config, overrides=overrides, directory=project.run("real"), watch=events.append)
    took = time.monotonic() - began
    started = next(event for event in events if isinstance(event, Started))
    assert told.steps == started.total_steps == result.step
    assert told.evaluations == sum(isinstance(event, Evaluated) for event in events)
    assert {name: started.facts[name] for name in told.facts} == told.facts
    checkpoints = list((project.run("real") / "checkpoints").rglob("*.safetensors"))
    kept = len({path.parent for path in checkpoints})
    on_disk = sum(path.stat().st_size for path in checkpoints) / kept
    assert told.footprint.checkpoint_bytes == pytest.approx(on_disk, rel=0.1)
    assert told.timing.finish_seconds is not None
    assert told.timing.start_seconds > 0.5, "imports count"
    assert took / 3 < told.seconds < took * 3
    assert told.footprint.memory_bytes > 10**8
    assert told.problems == ()


def test_where_rows_are_many_the_end_is_not_waited_for(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunDirectory(project.run("many"))
    settle_plan(run, check(str(project.config)))
    monkeypatch.setattr("burnish.run.forecast._MOST_ROWS", 10)
    told = forecast(read_plan(run), run, place=run.path, tell=lambda _sentence: None, finish=never)
    assert told.timing.finish_seconds is None
    assert told.seconds > told.steps * told.timing.step_seconds


def never(*_arguments: object) -> None:
    raise AssertionError("nobody waits for it")


def test_what_cannot_fit_is_a_problem(project: Project) -> None:
    (problem,) = plan(project.config, overrides=["train.keep.last=1000000000"]).problems
    assert "the disk has" in problem


def test_bad_data_is_refused_as_in_training(project: Project) -> None:
    with pytest.raises(BurnishError, match="nowhere"):
        plan(project.config, overrides=["task.text=nowhere"])


def test_the_command_line_tells_it_in_lines_and_as_json(
    project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from burnish.cli.main import run

    monkeypatch.chdir(tmp_path)
    assert run(["plan", str(project.config), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["steps"] == 64
    assert told["problems"] == []
    assert run(["plan", str(project.config), "train.keep.last=1000000000"]) == 6
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()] == [
        "rows", "validation", "texts", "parameters", "padding", "new",
        "tokens", "training", "scoring", "time", "memory", "disk", "does",
    ]  # fmt: skip
    assert list(tmp_path.iterdir()) == []


@dataclass
class BusyClock:
    """A clock on a machine where some of the time another process is busy, and everything takes 13 times as long."""

    busy: frozenset[int]
    seconds: float = 0.0
    taken: int = 0

    def take(self, place: int) -> None:
        self.seconds += (place + 1) * (13.0 if self.taken in self.busy else 1.0) / 1000
        self.taken += 1

    def now(self) -> float:
        return self.seconds


@given(st.lists(st.sets(st.integers(0, 3), max_size=2), min_size=4, max_size=4))
def test_what_is_timed_while_the_machine_is_busy_does_not_count_if_it_is_quiet_half_of_the_time(
    busy_rounds: list[set[int]],
) -> None:
    """Time four places of 1, 2, 3 and 4 ms in four rounds, each disturbed in up to two of them."""
    clock = BusyClock(frozenset(4 * each + place for place, rounds in enumerate(busy_rounds) for each in rounds))
    assert typical_seconds(clock.take, range(4), now=clock.now) == pytest.approx(0.0025)


def test_a_slow_step_is_not_repeated() -> None:
    clock = BusyClock(frozenset())
    assert typical_seconds(lambda _place: clock.take(99_999), range(3), now=clock.now) == pytest.approx(100)
    assert clock.taken == 1
