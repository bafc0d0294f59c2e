from hypothesis import given
from hypothesis import strategies as st

from burnish.spec.experiment import Batching


@given(st.integers(1, 10**9))
def test_an_automatic_batch_leaves_enough_steps_an_epoch(num_rows: int) -> None:
    size = Batching(examples="auto").settled(num_rows).examples
    assert size in (8, 16, 32, 64, 128, 256)
    assert size == 8 or num_rows // size >= 16
    assert size == 256 or num_rows // (2 * size) < 16


@given(st.integers(1, 10**6), st.sampled_from([Batching(), Batching(examples=3), Batching(tokens=512)]))
def test_a_batch_that_is_stated_stays(num_rows: int, batching: Batching) -> None:
    assert batching.settled(num_rows) == batching
