"""A run that waits for cores says so once, and only when the wait is worth a sentence."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from burnish.run.contention import ContentionWatch, waited_seconds
from burnish.spec.events import Noted, Stepped

STEP = Stepped(1, 0.0, 1.0, 1e-3, 1.0, 1, 1, 0.0)


def notes_of(moments: list[float], waited: list[float | None]) -> list[str]:
    notes: list[str] = []
    clock, waits = iter(moments), iter(waited)
    watch = ContentionWatch(notes.append, now=lambda: next(clock), waited=lambda: next(waits))
    for _ in moments:
        watch.emit(STEP)
    watch.close()
    return notes


def test_a_long_wait_is_reported_once() -> None:
    notes = notes_of([0.0, 10.0, 40.0, 80.0, 120.0], [1.0, 21.0, 60.0])
    assert notes == [
        "other programs are using the processor: in the last 40 s, 0.5 threads of this run were waiting for a free "
        "core on average, so it is slower than it could be"
    ]


def test_several_threads_that_wait_are_no_share_of_the_time() -> None:
    (note,) = notes_of([0.0, 40.0], [0.0, 55.2])
    assert "1.4 threads of this run were waiting" in note
    assert "%" not in note


def test_a_short_wait_is_not_worth_a_sentence() -> None:
    assert notes_of([0.0, 40.0, 80.0], [1.0, 5.0, 9.0]) == []


def test_each_window_is_judged_by_itself() -> None:
    assert len(notes_of([0.0, 40.0, 80.0], [1.0, 1.0, 31.0])) == 1


def test_where_the_system_cannot_say_nothing_is_asked_again() -> None:
    assert notes_of([0.0, 40.0], [None]) == []


def test_other_events_do_not_look_at_the_clock() -> None:
    never: Iterator[float] = iter(())
    ContentionWatch(lambda _note: None, now=lambda: next(never)).emit(Noted(1, "a note"))


def test_the_time_is_the_sum_over_threads(tmp_path: Path) -> None:
    for name, text in {"1": "5 2000000000 3", "2": "5 500000000 3", "3": "", "4": "x y z"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "schedstat").write_text(text)
    assert waited_seconds(tmp_path) == 2.5


def test_a_system_without_the_statistics_says_so(tmp_path: Path) -> None:
    assert waited_seconds(tmp_path) is None


def test_threads_that_outnumber_the_cores_are_seen_to_wait() -> None:
    before = waited_seconds()
    if before is None:
        pytest.skip("this system keeps no statistics of its scheduler")
    assert waited_beside_others(before) > before


def waited_beside_others(before: float) -> float:
    """Let more threads run than there are cores, until one was seen to wait; ends by itself."""
    deadline = time.monotonic() + 20
    is_over = threading.Event()

    def spin() -> None:
        while not is_over.is_set():
            sum(range(1000))

    threads = [threading.Thread(target=spin, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    waited = before
    while waited <= before and time.monotonic() < deadline:
        waited = waited_seconds() or before
    is_over.set()
    for thread in threads:
        thread.join()
    return waited
