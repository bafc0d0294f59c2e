"""Hashes are FNV-1a and a fixed mixture of it: the same everywhere, for ever."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.columns.hashing import assign_buckets, combine_hashes, hash_texts

_MASK = (1 << 64) - 1
_PRIME = 0x100000001B3


def fnv(text: str) -> int:
    total = 0xCBF29CE484222325
    for byte in text.encode():
        total = ((total ^ byte) * _PRIME) & _MASK
    return total


def mixed(value: int) -> int:
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = ((value ^ (value >> 33)) * factor) & _MASK
    return value ^ (value >> 33)


@given(st.lists(st.one_of(st.none(), st.text(max_size=40)), max_size=30))
def test_texts_hash_as_a_plain_loop_would(texts: list[str | None]) -> None:
    assert hash_texts(pa.array(texts, pa.string())).tolist() == [fnv(text or "") for text in texts]


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), min_size=1, max_size=20), st.integers(1, 5000))
def test_crosses_hash_as_plain_integers_would(pairs: list[tuple[str, str]], size: int) -> None:
    columns = [hash_texts(pa.array([pair[at] for pair in pairs])) for at in (0, 1)]
    expected = [mixed((mixed(fnv(a)) * _PRIME + fnv(b)) & _MASK) for a, b in pairs]
    assert combine_hashes(columns).tolist() == expected
    assert assign_buckets(combine_hashes(columns), size).tolist() == [mixed(value) % size for value in expected]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [(("Cash", "Loop"), 347), (("Credit Card", "Loop"), 476), (("", ""), 507), (("naïve", "日本"), 253)],
)
def test_a_cross_never_moves_between_versions(texts: tuple[str, str], expected: int) -> None:
    hashes = [hash_texts(pa.array([text])) for text in texts]
    assert assign_buckets(combine_hashes(hashes), 1000).tolist() == [expected]


def test_a_huge_value_is_hashed_by_its_digest_and_still_apart_from_others() -> None:
    huge = ["x" * 10_000_000, "x" * 9_999_999, "y"]
    assert len(set(hash_texts(pa.array(huge)).tolist())) == 3


def test_slices_of_an_array_hash_like_the_whole() -> None:
    whole = pa.array(["a", "bb", "", "ccc"])
    assert hash_texts(whole.slice(1, 2)).tolist() == hash_texts(whole).tolist()[1:3]
