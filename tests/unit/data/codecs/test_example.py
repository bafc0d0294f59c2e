"""Examples are what the wire format says they are, and hostile bytes are refused in one way only."""

import math
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from burnish.data.codecs.example import Feature, WireError, parse_example, serialise_example
from burnish.errors import DataError

INT64 = st.integers(-(2**63), 2**63 - 1)
FEATURE = st.one_of(
    st.builds(lambda values: Feature("bytes", tuple(values)), st.lists(st.binary(max_size=20), max_size=5)),
    st.builds(
        lambda values: Feature("float", tuple(values)), st.lists(st.floats(width=32, allow_nan=False), max_size=5)
    ),
    st.builds(lambda values: Feature("int64", tuple(values)), st.lists(INT64, max_size=5)),
    st.just(Feature()),
)
FEATURES = st.dictionaries(st.text(max_size=8), FEATURE, max_size=6)

# One feature `a` that holds 5, by hand: Example.features { entry { key "a", value { int64_list { packed [5] } } } }
FIVE = bytes.fromhex("0a0c 0a0a 0a0161 1205 1a03 0a0105")

LIKELY = "0a 12 1a 0b 0c 08 0d 09 01 03 ff 80 61 00 0a0105 1a03"
LONG = "ffffffffffffffffff01 ffffffffffffffffff7f"
PIECES = [*map(bytes.fromhex, f"{LIKELY} {LONG}".split())]


@given(FEATURES)
def test_what_is_written_is_read_again(features: dict[str, Feature]) -> None:
    assert parse_example(serialise_example(features)) == features


@given(st.binary(max_size=200))
def test_random_bytes_are_read_or_refused(data: bytes) -> None:
    with_patience(data)


@given(st.lists(st.sampled_from(PIECES), max_size=16))
@example([FIVE, FIVE])
def test_messages_of_likely_pieces_are_read_or_refused(pieces: list[bytes]) -> None:
    with_patience(b"".join(pieces))
    with_patience(nested(b"".join(pieces)))


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (FIVE, Feature("int64", (5,))),
        (bytes.fromhex("0a0c 0a0a 1205 1a03 0a0105 0a0161"), Feature("int64", (5,))),  # the key after the value
        (bytes.fromhex("0a0b 0a09 0a0161 1204 1a02 0805"), Feature("int64", (5,))),  # not packed
        (bytes.fromhex("0a15 0a13 0a0161 120e 1a0c 0a0a ffffffffffffffffff01"), Feature("int64", (-1,))),
        (bytes.fromhex("0a0f 0a0d 0a0161 1208 1206 0a04") + struct.pack("<f", 1.5), Feature("float", (1.5,))),
        (bytes.fromhex("0a0e 0a0c 0a0161 1207 1205 0d") + struct.pack("<f", 1.5), Feature("float", (1.5,))),
        (bytes.fromhex("0a0e 0a0c 0a0161 1207 0a05 0a03") + b"abc", Feature("bytes", (b"abc",))),
        (bytes.fromhex("0a07 0a05 0a0161 1200"), Feature()),
        (bytes.fromhex("0a05 0a03 0a0161"), Feature()),
        (FIVE + FIVE.replace(b"\x05", b"\x05")[:-1] + b"\x07", Feature("int64", (7,))),  # the last of a name counts
        (FIVE + bytes.fromhex("1864 22020a01 2b 0864 2c"), Feature("int64", (5,))),  # unknown fields, one a group
    ],
)
def test_bytes_assembled_by_hand(written: bytes, found: Feature) -> None:
    assert parse_example(written) == {"a": found}


def test_a_feature_given_in_parts_is_all_of_them() -> None:
    entry = bytes.fromhex("0a0161 1205 1a03 0a0105 1205 1a03 0a0106")
    assert parse_example(framed(framed(entry))) == {"a": Feature("int64", (5, 6))}


def test_of_two_kinds_the_last_one_counts() -> None:
    written = framed(framed(bytes.fromhex("0a0161 1205 1a03 0a0105 1205 0a03 0a0178")))
    assert parse_example(written) == {"a": Feature("bytes", (b"x",))}


def test_features_that_are_not_wanted_are_not_given() -> None:
    both = serialise_example({"a": Feature("int64", (5,)), "b": Feature("float", (1.0,))})
    assert parse_example(both, wanted=("a",)) == {"a": Feature("int64", (5,))}


@pytest.mark.parametrize(
    "written",
    ["0a", "0a05", "00", "0f", "80" * 5, "0b", "0c", "0b14", "0a050a030a01ff", "0a0c0a0a0a0161120512030a0105"],
)
def test_what_is_no_message_is_refused(written: str) -> None:
    with pytest.raises(WireError, match="its bytes are no such message"):
        parse_example(bytes.fromhex(written))


def test_equal_features_are_written_as_equal_bytes_whatever_their_order() -> None:
    features = {name: Feature("int64", (at,)) for at, name in enumerate(("b", "a", "é", "zz", "z"))}
    assert serialise_example(features) == serialise_example(dict(reversed(features.items())))


def test_numbers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match=r"`a` holds a number that does not fit: .*out of range"):
        serialise_example({"a": Feature("int64", (2**63,))})
    with pytest.raises(DataError, match="`b` holds a number that does not fit"):
        serialise_example({"b": Feature("float", (1e39,))})
    assert math.isinf(parse_example(serialise_example({"b": Feature("float", (math.inf,))}))["b"].values[0])


def with_patience(data: bytes) -> dict[str, Feature] | None:
    try:
        return parse_example(data)
    except WireError:
        return None


def framed(content: bytes) -> bytes:
    return b"\x0a" + bytes([len(content)]) + content


def nested(content: bytes) -> bytes:
    return framed(framed(b"\x0a\x01a\x12" + bytes([len(content)]) + content))
