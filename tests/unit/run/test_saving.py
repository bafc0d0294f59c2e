"""Which checkpoints stay."""

from hypothesis import given
from hypothesis import strategies as st

from burnish.engine.progress import TrainingProgress
from burnish.run.saving import dispensable, wanted
from burnish.spec.experiment import Keep
from burnish.spec.interval import Interval


def places(*steps: int) -> dict[int, TrainingProgress]:
    """Twenty steps an epoch, eight examples and half a minute a step."""
    return {step: TrainingProgress(step, step / 20, step * 8, step / 2) for step in steps}


def kept(every: str, *steps: int, last: int = 1, best: int | None = None) -> list[int]:
    """Save one after another and delete what is not wanted each time, as a run does."""
    there: list[int] = []
    for step in steps:
        stay = wanted(places(*there, step), keep=Keep(last=last, every=Interval.parse(every)), best=best)
        there = sorted(stay)
    return there


def test_the_newest_and_the_best_stay() -> None:
    assert kept("never", 5, 10, 15, 20, last=2, best=5) == [5, 15, 20]


def test_every_counts_in_any_unit() -> None:
    steps = range(5, 101, 5)
    assert kept("20 steps", *steps) == [20, 40, 60, 80, 100]
    assert kept("2 epochs", *steps) == [40, 80, 100]
    assert kept("400 examples", *steps) == [50, 100]
    assert kept("15 minutes", *steps) == [30, 60, 90, 100]


def test_the_first_at_or_after_a_multiple_stays_when_none_falls_on_it() -> None:
    assert kept("10 steps", 7, 14, 21, 28, 35, 42) == [14, 21, 35, 42]


@given(st.lists(st.integers(1, 400), unique=True, min_size=1), st.integers(1, 50), st.integers(1, 4))
def test_one_of_each_multiple_reached_stays_whatever_was_deleted_between(
    steps: list[int], every: int, last: int
) -> None:
    steps = sorted(steps)
    there = kept(f"{every} steps", *steps, last=last)
    assert {step // every for step in steps} - {0} <= {step // every for step in there}
    assert there[-last:] == steps[-last:]


def test_for_want_of_room_the_oldest_goes_but_never_the_best_or_the_newest() -> None:
    assert dispensable(places(5, 10, 15), best=5) == 10
    assert dispensable(places(5, 10), best=5) is None
    assert dispensable(places(5), best=None) is None
