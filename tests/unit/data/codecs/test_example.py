"""Examples are what the wire format says they are, and hostile bytes are refused in one way only."""

import math
import struct
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from burnish.data.codecs.example import Feature, WireError, parse_example, serialise_example
from burnish.errors import DataError
from tests.unit.data.codecs.example_oracle import as_pairs, example_class

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


@given(FEATURES)
def test_protobuf_reads_what_is_written(features: dict[str, Feature]) -> None:
    message = example_class().FromString(serialise_example(features))
    assert as_pairs(message) == {name: (each.kind, each.values) for name, each in features.items()}


@given(FEATURES)
def test_what_protobuf_writes_is_read(features: dict[str, Feature]) -> None:
    message = example_class()()
    for name, feature in features.items():
        entry = message.features.feature[name]
        if feature.kind is not None:
            part = getattr(entry, f"{feature.kind}_list")
            part.SetInParent()
            part.value.extend(feature.values)
    assert parse_example(message.SerializeToString()) == features


@given(st.binary(max_size=200))
def test_random_bytes_are_read_or_refused(data: bytes) -> None:
    with_patience(data)


@given(FEATURES, st.data())
def test_damage_is_judged_as_protobuf_judges_it(features: dict[str, Feature], data: Any) -> None:
    written = bytearray(serialise_example(features))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(written) - 1))
        written[at] = data.draw(st.integers(0, 255))
    del written[data.draw(st.integers(0, len(written))) :]
    agree(bytes(written))


@given(st.lists(st.sampled_from(PIECES), max_size=16))
@example([FIVE, FIVE])
def test_messages_of_likely_pieces_are_judged_as_protobuf_judges_them(pieces: list[bytes]) -> None:
    agree(b"".join(pieces))
    agree(nested(b"".join(pieces)))


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
    assert as_pairs(example_class().FromString(written)) == {"a": (found.kind, found.values)}


def test_a_feature_given_in_parts_is_all_of_them() -> None:
    entry = bytes.fromhex("0a0161 1205 1a03 0a0105 1205 1a03 0a0106")
    assert parse_example(framed(framed(entry))) == {"a": Feature("int64", (5, 6))}


def test_of_two_kinds_the_last_one_counts() -> None:
    written = framed(framed(bytes.fromhex("0a0161 1205 1a03 0a0105 1205 0a03 0a0178")))
    assert parse_example(written) == {"a": Feature("bytes", (b"x",))}
    agree(written)
    agree(nested(bytes.fromhex("1a03 0a0105 0a03 0a0178 1a03 0a0106")))


def test_features_that_are_not_wanted_are_not_looked_at() -> None:
    broken = framed(framed(bytes.fromhex("0a0162 1202 ffff")))
    with pytest.raises(WireError):
        parse_example(FIVE + broken)
    assert parse_example(FIVE + broken, wanted=("a",)) == {"a": Feature("int64", (5,))}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("0a", "ends inside a number"),
        ("0a05", "a field of 5 bytes begins 0 before the end"),
        ("00", "a field has the impossible number 0"),
        ("0f", "wire type 7"),
        ("80" * 5, "too many bytes"),
        ("0b", "never closed"),
        ("0c", "was not open"),
        ("0b14", "group 2 is closed but was not open"),
        ("0b" * 101, "nested more than 100 deep"),
        ("0a050a030a01ff", "not UTF-8"),
        ("0a0c0a0a0a0161120512030a0105", "not a multiple of 4"),
    ],
)
def test_a_refusal_says_what_is_wrong(written: str, said: str) -> None:
    with pytest.raises(WireError, match=said):
        parse_example(bytes.fromhex(written))


def test_numbers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match=r"`a` holds a number that does not fit: 9223372036854775808 takes more"):
        serialise_example({"a": Feature("int64", (2**63,))})
    with pytest.raises(DataError, match="`b` holds a number that does not fit"):
        serialise_example({"b": Feature("float", (1e39,))})
    assert math.isinf(parse_example(serialise_example({"b": Feature("float", (math.inf,))}))["b"].values[0])


def with_patience(data: bytes) -> dict[str, Feature] | None:
    try:
        return parse_example(data)
    except WireError:
        return None


def agree(data: bytes) -> None:
    message = example_class()()
    from google.protobuf.message import DecodeError

    try:
        message.ParseFromString(data)
        theirs = as_pairs(message)
    except DecodeError:
        theirs = None
    ours = with_patience(data)
    plain = None if ours is None else {name: (each.kind, each.values) for name, each in ours.items()}
    assert repr(plain and sorted(plain.items())) == repr(theirs and sorted(theirs.items()))  # nan is itself here
    assert (plain is None) == (theirs is None)


def framed(content: bytes) -> bytes:
    return b"\x0a" + bytes([len(content)]) + content


def nested(content: bytes) -> bytes:
    return framed(framed(b"\x0a\x01a\x12" + bytes([len(content)]) + content))
