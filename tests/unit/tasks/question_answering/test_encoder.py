"""Windows cover every token of a context, share what they should, and know the answer if it lies in them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from burnish.tasks.sequences import plan_windows

SIZES = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12)), min_size=1, max_size=6)


@given(SIZES, st.integers(0, 10))
def test_windows_cover_their_context_and_share_the_stride(sizes: list[tuple[int, int]], stride: int) -> None:
    contexts, rooms = (np.array(each) for each in zip(*sizes, strict=True))
    windows = plan_windows(contexts, rooms, stride=stride)
    for row, (size, room) in enumerate(sizes):
        mine = windows.source == row
        starts, ends = windows.starts[mine], windows.starts[mine] + windows.lengths[mine]
        assert starts[0] == 0
        assert ends[-1] == size
        assert (windows.lengths[mine] <= room).all()
        assert (ends[:-1] - starts[1:] == min(stride, room - 1)).all()
        assert size == 0 or (windows.lengths[mine] > 0).all()


@given(SIZES, st.integers(0, 10), st.data())
def test_an_answer_is_known_in_each_window_that_holds_it(
    sizes: list[tuple[int, int]], stride: int, data: st.DataObject
) -> None:
    contexts, rooms = (np.array(each) for each in zip(*sizes, strict=True))
    firsts = np.array([data.draw(st.integers(-1, max(-1, size - 1))) for size in contexts])
    lasts = np.array(
        [data.draw(st.integers(first, max(first, size - 1))) for first, size in zip(firsts, contexts, strict=True)]
    )
    windows = plan_windows(contexts, rooms, stride=stride)
    for (begin, end), row, start, length in zip(
        windows.local(firsts, lasts), windows.source, windows.starts, windows.lengths, strict=True
    ):
        tokens = set(range(start, start + length))
        holds = firsts[row] >= 0 and {int(firsts[row]), int(lasts[row])} <= tokens
        assert (begin, end) == ((firsts[row] - start, lasts[row] - start) if holds else (-1, -1))
