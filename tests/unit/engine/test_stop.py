"""Who may stop a run, and that every rank hears it."""

import os
import signal
from pathlib import Path

import pytest

from burnish.dist.world import Solo
from burnish.engine.stop import Stopper, StopRequest


def stopper(tmp_path: Path, **options: object) -> Stopper:
    return Stopper(Solo(), StopRequest(), tmp_path / "STOP", **options)  # type: ignore[arg-type]


def test_nobody_asks_and_the_run_goes_on(tmp_path: Path) -> None:
    assert stopper(tmp_path).reason() is None


def test_a_stop_file_stops(tmp_path: Path) -> None:
    (tmp_path / "STOP").touch()
    assert stopper(tmp_path).reason() == "stop_file"


def test_a_deadline_stops_by_the_wall_clock(tmp_path: Path) -> None:
    times = iter([0.0, 59.0, 60.0])
    watch = stopper(tmp_path, max_minutes=1.0, now=lambda: next(times))
    assert [watch.reason(), watch.reason()] == [None, "deadline"]


@pytest.mark.parametrize(("number", "reason"), [(signal.SIGTERM, "preempted"), (signal.SIGINT, "interrupted")])
def test_a_signal_becomes_a_request(tmp_path: Path, number: int, reason: str) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        watch = stopper(tmp_path)
        watch.request.listen()
        os.kill(os.getpid(), number)
        assert watch.reason() == reason
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_wish_of_another_rank_stops_this_one_too(tmp_path: Path) -> None:
    class TwoRanks(Solo):
        def sum(self, values: list[float]) -> list[float]:
            other = [0.0, 1.0, 0.0, 0.0, 0.0]
            return [mine + theirs for mine, theirs in zip(values, other, strict=True)]

    assert Stopper(TwoRanks(), StopRequest(), tmp_path / "STOP").reason() == "preempted"


def test_a_signal_that_comes_twice_at_once_is_one_request_where_a_parent_passes_signals_on(tmp_path: Path) -> None:
    times = iter([10.0, 12.9])
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        request = StopRequest(echo_seconds=3.0, now=lambda: next(times))
        request.listen()
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        assert request.reason == "preempted"
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
