"""What a computation costs and how many workers it is worth, on a machine that others use too."""

import time

import pytest

from burnish.serve.cost import best_seconds, count_workers


def test_time_that_others_take_is_not_counted() -> None:
    assert best_seconds(lambda: time.sleep(0.02), budget=0.0) < 0.01


@pytest.mark.parametrize(
    ("network", "cores", "workers"),
    [
        (0.9, 2, 2),  # a transformer: half the time is saved
        (0.25, 2, 1),  # a small table: one core would mostly wait for the interpreter of the other
        (0.25, 4, 4),
        (2.0, 4, 4),  # an estimate may be beyond the whole
        (0.9, 1, 1),
    ],
)
def test_workers_are_worth_their_cores_where_the_network_takes_the_time(
    network: float, cores: int, workers: int
) -> None:
    assert count_workers(whole=1.0, network=network, cores=cores) == workers
