"""Lists and numbers come out of a column in the order asked for, however the column is cut into chunks."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.batching.ragged import gather, pick

numbers = st.lists(st.integers(-9, 9), min_size=1, max_size=30)
places = st.lists(st.integers(0, 99))
lists = st.lists(st.lists(st.integers(0, 99), max_size=5), min_size=1, max_size=30)


def chunked(values, kind, cuts):
    ends = sorted({0, len(values), *(cut % (len(values) + 1) for cut in cuts)})
    return pa.chunked_array([pa.array(values[a:b], kind) for a, b in pairwise(ends)], type=kind)


@given(lists, st.lists(st.integers(0, 99), max_size=6), st.lists(st.integers(0, 999), max_size=40))
def test_lists_are_gathered_across_chunks(values, cuts, asked):
    indices = np.array([each % len(values) for each in asked], dtype=np.int64)
    found = gather(chunked(values, pa.list_(pa.int32()), cuts), indices)
    assert [found[place].tolist() for place in range(len(found))] == [values[index] for index in indices]


@given(
    st.lists(st.integers(-9, 9), min_size=1, max_size=30), st.lists(st.integers(0, 99)), st.lists(st.integers(0, 99))
)
def test_numbers_and_rows_of_a_matrix_are_picked_across_chunks(values, cuts, asked):
    indices = np.array([each % len(values) for each in asked], dtype=np.int64)
    assert pick(chunked(values, pa.int64(), cuts), indices).tolist() == [values[index] for index in indices]
    matrix = [[value, -value] for value in values]
    found = pick(chunked(matrix, pa.list_(pa.float32(), 2), cuts), indices)
    assert found.shape == (len(indices), 2)
    assert found.tolist() == [matrix[index] for index in indices]
