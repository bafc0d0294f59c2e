from typing import Any

import numpy as np
import pyarrow as pa

from burnish.data.codecs.formats import CODECS
from burnish.serve.cost import Cost, fit_cost
from burnish.serve.jobs import Chunk, Job
from burnish.serve.queue import JobQueue, grow, is_late


def job(*, size: int = 10, arrived: float = 0.0, deadline: float = 1.0) -> Job:
    return Job(b"x" * size, CODECS["json"], b"", arrived=arrived, deadline=deadline, waiter=None)


def chunk(length: int, *, turn: float = 0.0) -> Chunk:
    return Chunk(job(), pa.table({}), np.array([0]), length, turn, 10.0)


def queue(**options: Any) -> JobQueue:
    given = {"budget": 100, "max_seconds": 1.0, "max_bytes": 1000, "seconds_per_byte": 0.01, **options}
    return JobQueue(Cost(0.01, 0.001), **given)  # type: ignore[arg-type]  # numbers of either kind


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_batch_grows_where_padding_is_least() -> None:
    ready = [chunk(length) for length in (3, 9, 10, 11, 40)]
    assert grow(ready, 2, budget=1000, free_padding=5) == (1, 4)


def test_a_batch_ends_at_its_budget() -> None:
    ready = [chunk(10) for _ in range(20)]
    low, high = grow(ready, 5, budget=80, free_padding=100)
    assert (high - low, low <= 5 < high) == (8, True)


def test_the_one_that_waits_longest_is_in_the_next_batch() -> None:
    waiting = queue()
    waiting.add([chunk(50, turn=2.0), chunk(10, turn=1.0), chunk(51, turn=3.0)])
    assert [each.length for each in waiting.take()[1]] == [10]
    assert [each.length for each in waiting.take()[1]] == [50]


def test_requests_gather_while_a_batch_is_computed() -> None:
    waiting = queue()
    waiting.put(job())
    assert len(waiting.take()[0]) == 1
    waiting.add([chunk(10)])
    waiting.put(job())
    waiting.put(job())
    assert len(waiting.take()[1]) == 1
    assert len(waiting.take()[0]) == 2


def test_what_would_wait_too_long_is_refused_and_what_finds_nobody_is_not() -> None:
    waiting = queue()
    assert waiting.refusal(10_000) is None
    waiting.put(job(size=200))
    assert "more than 1 seconds" in str(waiting.refusal(1))
    waiting.left(200, is_computed=True)
    assert waiting.refusal(1) is None


def test_the_wait_is_estimated_from_what_was_computed_in_the_time_that_passed() -> None:
    clock = Clock()
    waiting = queue(now=clock, seconds_per_byte=0.0001)
    for _ in range(40):  # ten times slower than was measured at the start
        waiting.put(job(size=100))
        clock.now += 0.1
        waiting.left(100, is_computed=True)
    for _ in range(500):
        waiting.answered([job(arrived=clock.now)])
    clock.now += 1000.0  # when nobody asks, nothing is slow
    waiting.put(job(size=500))
    assert np.isclose(waiting.expected_wait, 0.5, rtol=0.15)
    waiting.put(job(size=700))
    assert "more than 1 seconds" in str(waiting.refusal(1))


def test_answers_that_come_late_make_it_refuse_earlier_and_answers_in_time_make_up_for_it() -> None:
    clock = Clock()
    waiting = queue(now=clock)
    waiting.put(job(size=50))
    before = waiting.expected_wait
    clock.now = 2.0
    for _ in range(4):
        waiting.answered([job()] * 200)
    assert waiting.expected_wait > 2 * before
    clock.now = 0.5
    for _ in range(1000):
        waiting.answered([job()])
    assert waiting.expected_wait < before  # which was careful, because nothing was known


def test_a_closed_queue_hands_out_what_it_has_and_then_nothing() -> None:
    waiting = queue()
    waiting.put(job())
    waiting.close()
    assert "shutting down" in str(waiting.refusal(1))
    assert len(waiting.take()[0]) == 1
    assert waiting.take() == ([], [])


def test_only_what_is_not_begun_can_be_late() -> None:
    late = chunk(10)
    assert is_late(late, now=2.0)
    late.job.pieces.append({})
    assert not is_late(late, now=2.0)


def test_the_cost_of_a_batch_is_a_line() -> None:
    cost = fit_cost((10, 0.02), (110, 0.12))
    assert np.isclose(cost.seconds(60), 0.07)
    assert cost.tokens_within(0.04) in (29, 30)
