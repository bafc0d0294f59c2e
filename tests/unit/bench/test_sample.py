"""All contestants work on the same rows."""

from hypothesis import given
from hypothesis import strategies as st

from burnish.bench.sample import chosen_rows


@given(st.integers(0, 500), st.integers(1, 500))
def test_rows_are_chosen_once_each_in_order_and_always_the_same(total: int, rows: int) -> None:
    chosen = chosen_rows(total, rows).tolist()
    assert len(chosen) == min(total, rows)
    assert chosen == sorted(set(chosen))
    assert all(0 <= row < total for row in chosen)
    assert chosen == chosen_rows(total, rows).tolist()
