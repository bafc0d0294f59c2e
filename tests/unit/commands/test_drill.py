"""What a drill decides without training: how long, when to kill, and what a kill cost."""

import os
import signal
import time
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.commands import drill
from burnish.commands.crash.rehearsal import ObservedWorker, Stopping
from burnish.commands.crash.sameness import FileDifference
from burnish.commands.drill import DrillResult, Interruption, Stopped
from burnish.config import load
from burnish.errors import BurnishError
from burnish.launch.local import run_worker
from burnish.run.record.directory import RunDirectory
from burnish.spec.events import Ended, Event, Noted, Saved, Started, Stepped

MINE = "task: text_classification\ndata:\n  train: train.csv\nmodel: bert-base-uncased\n"


def stepped(step: int) -> Stepped:
    return Stepped(step, 0.1, 0.5, 1e-3, 1.0, 8, 80, 0.1)


def attempt(steps: int, *, first: int = 0, number: int | None = None, signalled: float | None = None) -> ObservedWorker:
    """An attempt that started at second 10 and took a second a step."""
    seen = ObservedWorker(number, began=0.0)
    seen.note(Started(first, 1, 100), now=10.0)
    for step in range(first + 1, first + steps + 1):
        seen.note(stepped(step), now=10.0 + step - first)
    seen.signalled = signalled
    return seen


@given(steps=st.integers(8, 10_000), seed=st.integers())
def test_both_signals_come_within_the_stretch_and_the_kill_after_the_term(steps: int, seed: int) -> None:
    term, kill = drill._plan_signals(attempt(steps), steps, Random(seed))
    assert (term.planned_signal, kill.planned_signal) == (signal.SIGTERM, signal.SIGKILL)
    assert 1 <= term.at_step < kill.at_step <= steps - 2
    assert 0 <= term.delay_seconds <= 1


def test_a_kill_loses_what_was_done_since_the_checkpoint() -> None:
    killed = attempt(8, number=signal.SIGKILL, signalled=18.5)
    (lost,) = drill._list_interruptions([killed, attempt(2, first=5)])
    assert lost == Interruption("SIGKILL", 8, 5, pytest.approx(3.5))


def test_a_kill_before_the_first_checkpoint_of_an_attempt_loses_all_of_it() -> None:
    killed = attempt(3, first=20, number=signal.SIGKILL, signalled=13.5)
    (lost,) = drill._list_interruptions([killed, attempt(2, first=20)])
    assert lost.lost_seconds == pytest.approx(3.5)


def test_a_term_that_saved_loses_nothing() -> None:
    stopped = attempt(8, number=signal.SIGTERM, signalled=18.5)
    (lost,) = drill._list_interruptions([stopped, attempt(2, first=9)])
    assert lost.lost_seconds == 0.0


def test_a_signal_that_was_never_sent_is_not_told() -> None:
    assert list(drill._list_interruptions([attempt(8, number=signal.SIGKILL), attempt(2, first=8)])) == []


def test_checkpoints_that_are_too_rare_are_made_more_often_and_told() -> None:
    notes: list[str] = []
    assert drill._save_often(attempt(40), 40, notes) == ["train.checkpoint_every=10 steps"]
    assert "it saved every 10 steps" in notes[0]


def test_checkpoints_that_are_frequent_enough_stay_as_they_are() -> None:
    seen, notes = attempt(40), []
    for step in (10, 20, 30, 40):
        seen.note(Saved(step, "x"), now=0.0)
    assert (drill._save_often(seen, 40, notes), notes) == ([], [])


def test_a_length_by_the_clock_is_replaced_and_told(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MINE)
    notes: list[str] = []
    assert drill._count_steps(load(str(path)), notes) == []
    assert drill._count_steps(load(str(path), overrides=["train.length=5 minutes"]), notes) == [
        "train.length=1000000 steps"
    ]
    assert "in minutes" in notes[0]


def test_the_run_is_asked_to_stop_at_its_step_and_when_it_goes_on_from_there(tmp_path: Path) -> None:
    stopping = Stopping(5, tmp_path / "STOP")
    stopping.emit(stepped(4))
    assert not stopping.stop_file.exists()
    stopping.emit(stepped(5))
    assert stopping.stop_file.exists()
    stopping.stop_file.unlink()
    stopping.emit(Started(5, 2, None))
    assert stopping.stop_file.exists()


def test_the_tracker_that_stops_a_run_can_be_written_in_a_config(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MINE)
    (tracker,) = load(str(path), overrides=[drill._stop_after(7)]).experiment.track
    assert tracker.open(tmp_path, name="x").steps == 7


def test_one_difference_is_enough_not_to_be_exact() -> None:
    exact = DrillResult(8, 1.0, (Interruption("SIGKILL", 4, 2, 1.5),), (), (), None)
    assert exact.is_exact
    assert exact.lost_seconds == 1.5
    assert not DrillResult(8, 1.0, (), (FileDifference("a", "b"),), (), None).is_exact


def test_the_folder_of_a_drill_goes_away_unless_it_is_kept(tmp_path: Path) -> None:
    with drill._make_folder(tmp_path, keep=False) as gone:
        (gone / "x").touch()
    with drill._make_folder(tmp_path, keep=True) as kept:
        pass
    assert (gone.exists(), list(tmp_path.iterdir())) == (False, [kept])


def heard(clock: "drill._Clock", run: RunDirectory, *events: Event) -> None:
    hear = clock.hear(run)
    for event in events:
        hear(event)


def test_nothing_that_a_worker_says_is_shown(tmp_path: Path) -> None:
    shown: list[Event] = []
    clock = drill._Clock(1.0, None, shown.append)
    heard(clock, RunDirectory(tmp_path), Started(0, 1, 9), Noted(0, "n"), stepped(1), Ended(1, "finished"))
    assert shown == []


def test_a_start_that_takes_long_is_told_with_what_the_drill_will_take(tmp_path: Path) -> None:
    shown: list[Event] = []
    clock = drill._Clock(1.0, None, shown.append, began=time.monotonic() - 30)
    heard(clock, RunDirectory(tmp_path), Started(0, 1, 9))
    assert shown == [Noted(0, "a worker takes 30 s to start here, so this takes about 2.1 minutes")]
    clock.refuse_early_end()


def test_a_limit_that_cannot_suffice_stops_the_worker_and_is_refused_with_one_that_can(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    clock = drill._Clock(1.0, 1.0, lambda _event: None, began=time.monotonic() - 30)
    heard(clock, run, Started(0, 1, 9))
    assert run.stop_file.exists()
    with pytest.raises(BurnishError, match=r"--minutes 1 is too short .*: a worker takes 30 s .*; try --minutes 3$"):
        clock.refuse_early_end()


def test_a_limit_that_passes_stops_the_worker(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    clock = drill._Clock(1.0, 1.0, lambda _event: None, began=time.monotonic() - 61, startup=2.0)
    heard(clock, run, stepped(3))
    assert run.stop_file.exists()
    assert clock.is_over


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_drill_in_a_sentence(number: int) -> None:
    before, clock = signal.getsignal(number), drill._Clock(1.0, None, lambda _event: None)
    with clock.listening():
        os.kill(os.getpid(), number)
    with pytest.raises(Stopped, match="the drill was stopped before its end"):
        clock.tell("resuming")
    assert signal.getsignal(number) is before


def test_a_signal_that_reaches_the_worker_ends_the_drill_too() -> None:
    clock = drill._Clock(1.0, None, lambda _event: None)
    waiting = ["timeit", "-n1", "-r1", "import signal; print('here', flush=True); signal.pause()"]
    with clock.listening():
        assert run_worker(waiting, on_line=lambda _line: os.kill(os.getpid(), signal.SIGTERM)) == -signal.SIGTERM
    with pytest.raises(Stopped):
        clock.refuse_early_end()
