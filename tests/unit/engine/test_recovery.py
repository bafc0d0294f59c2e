"""What was mended is a pure function of the place, so a resumed run does it again."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.engine.recovery import Adjustments, BadStep, is_bad, size_limit
from burnish.spec.experiment import Recovery
from burnish.spec.values import StepResult

pairs = st.lists(st.tuples(st.integers(0, 99), st.integers(1, 99)), max_size=4).map(tuple)
repairs = st.builds(
    Adjustments, pairs, st.lists(st.tuples(st.integers(0, 99), st.floats(0.1, 0.9)), max_size=4).map(tuple), pairs
)


def bad(step: int = 7) -> BadStep:
    error = BadStep(step, StepResult(math.nan, 1.0, 8, 64), rows=[3, 1])
    error.place = (0, 6)
    return error


@pytest.mark.parametrize(
    ("loss", "norm", "limit", "expected"),
    [
        (1.0, 1.0, None, False),
        (math.nan, 1.0, None, True),
        (math.inf, 1.0, None, True),
        (1.0, math.inf, None, True),
        (9.0, 1.0, 8.0, True),
        (8.0, 1.0, 8.0, False),
    ],
)
def test_a_step_is_bad_when_a_number_is_none_or_the_loss_is_over_the_limit(
    loss: float, norm: float, limit: float | None, expected: bool
) -> None:
    assert is_bad(StepResult(loss, norm, 1, 1), loss_limit=limit) is expected


@given(repairs)
def test_repairs_come_back_from_json(mended: Adjustments) -> None:
    import json

    assert Adjustments.from_json(json.loads(json.dumps(mended.to_json()))) == mended


def test_the_rate_is_lowered_from_a_step_on_and_again() -> None:
    mended = Adjustments(lowered=((10, 0.5), (20, 0.5)))
    assert [mended.rate(step) for step in (9, 10, 19, 20)] == [1, 0.5, 0.5, 0.25]


def test_micro_batches_stay_below_the_smallest_size_that_failed_before() -> None:
    mended = Adjustments().with_split(10, 800).with_split(20, 400)
    assert [size_limit(mended.split, step) for step in (9, 10, 20)] == [None, 800, 400]


def test_skip_passes_over_the_batch_and_lower_lowers_from_the_checkpoint() -> None:
    assert Adjustments().after(bad(), Recovery(), restored_step=4) == Adjustments(skipped=((0, 6),))
    lowered = Adjustments().after(bad(), Recovery(action="lower", factor=0.1), restored_step=4)
    assert lowered == Adjustments(lowered=((4, 0.1),))


def test_tries_are_bounded_and_stop_tries_nothing() -> None:
    assert Adjustments().after(bad(), Recovery(action="stop"), restored_step=0) is None
    twice = Adjustments(skipped=((0, 1), (0, 2)))
    assert twice.after(bad(), Recovery(tries=2), restored_step=0) is None
    assert twice.after(bad(), Recovery(tries=3), restored_step=0) is not None
