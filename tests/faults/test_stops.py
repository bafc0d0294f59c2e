"""Every way to stop a run ends it after a whole step, with a checkpoint, an exit code and a word in exit.json."""

import json
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from burnish.run.record.directory import RunDirectory
from burnish.run.record.ending import PREEMPTED
from tests.faults.conftest import Scene, Tally, whole
from tests.harness.fork_server import Attempt

ENDLESS = ("train.length=100000 steps", "train.patience=null")
LONGEST_SECONDS = 120.0

Act = Callable[[RunDirectory, Attempt], object]
STOPS: dict[str, tuple[Act, str]] = {
    "SIGTERM": (lambda run, attempt: attempt.kill(signal.SIGTERM), "preempted"),
    "SIGINT": (lambda run, attempt: attempt.kill(signal.SIGINT), "interrupted"),
    "STOP": (lambda run, attempt: run.stop_file.touch(), "stop_file"),
}


@pytest.mark.parametrize("name", STOPS)
def test_a_run_that_is_asked_to_stop_saves_its_last_step_and_says_why(scene: Scene, name: str) -> None:
    act, reason = STOPS[name]
    run = scene.plan(f"stopped-{name}", *ENDLESS)
    attempt = under_way(scene, run)
    act(run, attempt)
    assert attempt.wait() == PREEMPTED
    assert_ended(run, reason)


def test_a_deadline_ends_it_in_the_same_way(scene: Scene) -> None:
    run = scene.plan("deadline", *ENDLESS, "train.max_minutes=0.005")
    assert scene.start(run, Tally()).wait() == PREEMPTED
    assert_ended(run, "deadline")


def test_a_stop_file_or_a_word_of_the_attempt_before_does_not_stop_the_next_one(scene: Scene) -> None:
    run = scene.plan("again", *ENDLESS)
    run.stop_file.touch()
    attempt = under_way(scene, run)
    assert not run.exit.exists()
    run.stop_file.touch()
    assert attempt.wait() == PREEMPTED


def test_a_second_signal_ends_it_at_once_and_it_can_be_resumed(scene: Scene, tally: Tally) -> None:
    run = scene.plan("twice")
    attempt = under_way(scene, run)
    # Two of one kind may arrive as one; of two kinds, SIGINT is seen first.
    attempt.kill(signal.SIGTERM)
    attempt.kill(signal.SIGINT)
    assert attempt.wait() in (128 + signal.SIGTERM, 128 + signal.SIGINT)
    assert not run.exit.exists()
    assert run.status() == "interrupted"
    scene.resume(run, tally)
    scene.assert_same(run, tally)


@pytest.mark.parametrize(
    ("reason", "options"),
    [("finished", ["train.length=2 steps"]), ("early_stopping", ["train.patience=1", "train.evaluate_every=1 step"])],
)
def test_a_run_that_came_to_its_end_says_so(scene: Scene, reason: str, options: list[str]) -> None:
    run = scene.plan(reason, "optimizer.learning_rate=1e-12", *options)
    assert scene.start(run, Tally()).wait() == 0
    assert_ended(run, reason)


def test_a_lock_names_who_holds_the_run_and_a_dead_holder_does_not_keep_it(scene: Scene, tally: Tally) -> None:
    run = scene.plan("held")
    attempt = under_way(scene, run)
    lock = run.read_lock()
    assert lock is not None
    assert lock.pid == attempt.pid
    second = scene.server.start(run.path, output=scene.root / "second.txt")
    assert second.wait() == 5
    assert f"is being trained by process {attempt.pid} on {lock.host}" in second.output.read_text()
    attempt.kill()
    assert attempt.wait() in (0, -signal.SIGKILL)
    scene.resume(run, tally)
    scene.assert_same(run, tally)


def under_way(scene: Scene, run: RunDirectory) -> Attempt:
    """Start a worker, and come back when it has taken a step."""
    attempt = scene.start(run, Tally())
    deadline = time.monotonic() + LONGEST_SECONDS
    while not (run.events.exists() and '"stepped"' in run.events.read_text()):
        assert time.monotonic() < deadline, attempt.output.read_text()[-3000:]
        time.sleep(0.005)
    return attempt


def assert_ended(run: RunDirectory, reason: str) -> None:
    ending: dict[str, Any] = json.loads(run.exit.read_text())
    assert ending.keys() == {"reason", "step", "seconds", "memory_bytes"}
    assert ending["reason"] == reason
    assert ending["step"] == int(whole(run)[-1].name[5:])
    assert not run.lock.exists()
    ended = [json.loads(line) for line in run.events.read_text().splitlines()][-1]
    assert (ended["event"], ended["step"], ended["reason"]) == ("ended", ending["step"], reason)
