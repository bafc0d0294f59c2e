"""When something is due."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.engine.progress import TrainingProgress, is_due
from burnish.engine.state import TrainState
from burnish.spec.interval import NEVER, Interval


@given(every=st.integers(1, 50), steps=st.integers(1, 500))
def test_every_n_steps_is_due_exactly_that_often(every: int, steps: int) -> None:
    due = [
        s
        for s in range(1, steps + 1)
        if is_due(Interval(every, "steps"), before=TrainingProgress(s - 1), now=TrainingProgress(s))
    ]
    assert due == list(range(every, steps + 1, every))


@given(batches=st.integers(10, 200), tenths=st.integers(1, 30))
def test_parts_of_an_epoch_are_counted_without_rounding_slips(batches: int, tenths: int) -> None:
    every = Interval(tenths / 10, "epochs")
    places = [TrainingProgress(epochs=e + b / batches) for e in range(6) for b in range(batches)] + [
        TrainingProgress(epochs=6.0)
    ]
    due = sum(is_due(every, before=a, now=b) for a, b in pairwise(places))
    assert due == int(60 // tenths)


def test_never_is_never_due() -> None:
    assert not is_due(
        NEVER, before=TrainingProgress(), now=TrainingProgress(step=10**9, epochs=1e9, examples=10**9, minutes=1e9)
    )


@pytest.mark.parametrize(
    ("text", "place", "is_reached"),
    [
        ("3 epochs", TrainingProgress(epochs=3.0), True),
        ("3 epochs", TrainingProgress(epochs=2.99), False),
        ("10 steps", TrainingProgress(step=10), True),
        ("100 examples", TrainingProgress(examples=99), False),
        ("2 minutes", TrainingProgress(minutes=2.5), True),
    ],
)
def test_a_length_is_reached_in_its_own_unit(text: str, place: TrainingProgress, is_reached: bool) -> None:
    assert place.has_reached(Interval.parse(text)) is is_reached


@pytest.mark.parametrize("odd", [{"step": -3}, {"epochs": -0.5}, {"examples": -1}, {"minutes": math.inf}])
def test_a_saved_position_that_no_run_comes_to_is_refused(odd: dict[str, float]) -> None:
    state = TrainState().to_json()
    with pytest.raises(ValueError, match=next(iter(odd))):
        TrainState.from_json({**state, "position": {**state["position"], **odd}})
