"""A study at work: no run has two trainers, and whatever goes wrong, nothing trains on unasked."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event as Flag

import pytest

from burnish.config import Resolved, load
from burnish.run.record.directory import RunDirectory, write_json
from burnish.spec.search import Coordinates
from burnish.tuning import study as module
from burnish.tuning.data import StudyData
from burnish.tuning.record import EndedLeg, StudyRecord, Trial, read_record
from burnish.tuning.searchers import Random
from burnish.tuning.space import Settled
from burnish.tuning.study import Study, StudyLimits
from burnish.tuning.trials import LegRunner
from tests.unit.tuning.test_space import space_of
from tests.unit.tuning.test_trials import GOAL, finish

EXPERIMENT = load("demo/reviews").experiment
ABOUT = {"seed": 0, "evaluations": 4, "experiment": {}, "trials": 4}


def refuse_to_plan(settled: Settled) -> Resolved:
    raise AssertionError(f"the run of {settled} was planned by the test")


def study_of(directory: Path, *, parallel: int = 2, num_trials: int = 2) -> Study:
    record = StudyRecord(directory)
    record.begin(dict(ABOUT))
    (RunDirectory(directory / "trial-0000").plan).parent.mkdir(parents=True)
    for number in range(num_trials):
        run = RunDirectory(directory / f"trial-{number:04d}")
        run.path.mkdir(exist_ok=True)
        run.plan.touch()
    limits = StudyLimits(num_trials, parallel)
    data = StudyData(record, EXPERIMENT)
    return Study(record, space_of("rate: [0.1]"), Random(), GOAL, limits, refuse_to_plan, data)


@dataclass
class Gate:
    """Stands for the workers: each begins at once, and ends when the test lets it."""

    opened: Flag = field(default_factory=Flag)
    begun: list[str] = field(default_factory=list)

    def start(self, run: Path, options: Sequence[str], *, cores: Sequence[int], log: Path) -> Iterator[str]:
        self.begun.append(run.name)
        self.opened.wait(10)
        finish(RunDirectory(run), 1.0)
        yield from ()


def test_a_point_whose_run_is_training_waits_for_it_and_is_answered_by_it(tmp_path: Path) -> None:
    study, gate = study_of(tmp_path / "study"), Gate()
    with ThreadPoolExecutor(2) as pool:
        runner = LegRunner(gate, GOAL, lambda number, curve: False)
        study._begin_legs(runner, pool, at=0.0)
        assert [leg.trial for leg, _ in study._running.values()] == [0]
        assert study.record.trials[1].run == study.record.trials[0].run
        gate.opened.set()
        while study._running:
            (future,) = study._running
            ended = future.result()
            del study._running[future]
            study._take(ended, at=0.0)
            study._begin_legs(runner, pool, at=0.0)
    assert gate.begun == ["trial-0000"]
    assert [(end.trial, end.state, end.score) for end in study.record.ends] == [
        (0, "finished", 1.0),
        (1, "finished", 1.0),
    ]


class Endless:
    """Stands for the workers: the first fails in its starter, the others train until they are asked to stop."""

    def __init__(self) -> None:
        self.is_training = Flag()

    def start(self, run: Path, options: Sequence[str], *, cores: Sequence[int], log: Path) -> Iterator[str]:
        if run.name == "trial-0000":
            self.is_training.wait(10)
            raise OSError("no process can be started")
        directory = RunDirectory(run)
        directory.write_lock(now=time.time())
        self.is_training.set()
        until = time.monotonic() + 10
        while not directory.stop_file.exists() and time.monotonic() < until:
            time.sleep(0.01)
        directory.lock.unlink()
        write_json(directory.exit, {"reason": "stop_file"})
        yield from ()


def test_an_error_in_one_leg_asks_the_others_to_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = study_of(tmp_path / "study")
    study.space = space_of("rate: [0.1, 0.2]")
    study.starts = [{"rate": 0.0}, {"rate": 1.0}]
    monkeypatch.setattr(module, "_choose_starter", lambda environment, model, stopping: nullcontext(Endless()))
    from burnish.engine.stop import StopRequest

    began = time.monotonic()
    with pytest.raises(OSError, match="no process"):
        study.run(StopRequest())
    assert time.monotonic() - began < 5
    assert study.record.ends == []


@dataclass(frozen=True)
class Crowd(Trial):
    """A trial during whose reading another begins, as in another thread."""

    begin: Callable[[], None] = lambda: None

    def __getattribute__(self, name: str) -> object:
        if name == "point":
            object.__getattribute__(self, "begin")()
        return object.__getattribute__(self, name)


def test_a_trial_may_begin_while_a_leg_reads_the_record(tmp_path: Path) -> None:
    study = study_of(tmp_path / "study")
    trials = study.record.trials
    point: Coordinates = {"rate": 0.0}

    def begin() -> None:
        trials[len(trials)] = Trial(len(trials), point, {}, "trial-0001")

    trials[0] = Crowd(0, point, {}, "trial-0000", begin)
    assert study.state().points == {0: point}


def test_what_a_trial_was_kept_for_is_recorded_with_the_end_of_another(tmp_path: Path) -> None:
    study, gate = study_of(tmp_path / "study"), Gate()
    study.space = space_of("rate: [0.1, 0.2]")
    study.starts = [{"rate": 0.0}, {"rate": 1.0}]
    with ThreadPoolExecutor(2) as pool:
        study._begin_legs(LegRunner(gate, GOAL, lambda number, curve: False), pool, at=0.0)
        study.record.passed[1] = 2
        study._running = {future: place for future, place in study._running.items() if place[0].trial == 1}
        study._take(EndedLeg(0, None, "finished", 0.5, curve=(0.5,)), at=0.0)
        gate.opened.set()
    assert read_record(tmp_path / "study").passed == {1: 2}
