"""Values come out of a package as they went in, and nothing in it can be anything but data."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from burnish.dist.packing import pack, unpack

DTYPES = st.sampled_from([np.float32, np.float64, np.int64, np.uint8, np.bool_, np.dtype("<U5"), np.dtype(">i4")])
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, SHAPES))
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    PLAIN | ARRAYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text().filter(lambda t: t != "$array"), inner),
    max_leaves=8,
)


@given(VALUES)
def test_a_value_comes_back_unchanged(value: Any) -> None:
    assert_same(unpack(pack(value)), value)


def assert_same(given: Any, wanted: Any) -> None:
    if isinstance(wanted, np.ndarray):
        assert (given.dtype, given.shape) == (wanted.dtype, wanted.shape)
        assert given.tobytes() == np.ascontiguousarray(wanted).tobytes()
    elif isinstance(wanted, dict):
        assert given.keys() == wanted.keys()
        for key in wanted:
            assert_same(given[key], wanted[key])
    elif isinstance(wanted, list):
        assert len(given) == len(wanted)
        for one, two in zip(given, wanted, strict=True):
            assert_same(one, two)
    else:
        assert (type(given), given) == (type(wanted), wanted)


def test_arrays_keep_their_order_and_can_be_written_to() -> None:
    first, second = unpack(pack([np.arange(3), np.arange(6.0).reshape(2, 3).T]))
    first[0] = 9
    assert (first.tolist(), second.tolist()) == ([9, 1, 2], [[0, 3], [1, 4], [2, 5]])


def test_numbers_that_are_none_travel_too() -> None:
    assert np.isnan(unpack(pack({"loss": float("nan")}))["loss"])


@pytest.mark.parametrize("value", [np.array([{}], dtype=object), {"$array": ["<f8", [1]]}, {1: 2}, {"x": object()}])
def test_what_is_no_data_is_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        pack(value)
