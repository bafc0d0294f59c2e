"""The checksum has the values that its standard tells, by either way of computing it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.data.codecs import tfrecord as module
from burnish.data.codecs.tfrecord import crc32c, mask_crc32c


@pytest.mark.parametrize(
    ("data", "checksum"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),  # this and the next three are in RFC 3720
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(reversed(range(32))), 0x113FDB5C),
    ],
)
def test_known_values(data: bytes, checksum: int) -> None:
    assert crc32c(data) == checksum


@settings(max_examples=30)
@given(st.integers(4, 10_000), st.randoms(use_true_random=False))
def test_lanes_give_what_bytes_give(size: int, random: object) -> None:
    data = random.randbytes(size)
    assert module._in_lanes(data) == module._byte_by_byte(data)


def test_the_masked_form_is_what_tensorboard_writes() -> None:
    theirs = pytest.importorskip("tensorboard.compat.tensorflow_stub.pywrap_tensorflow", reason="tensorboard is absent")
    for data in (b"", b"abc", bytes(5000)):
        assert mask_crc32c(data) == theirs.masked_crc32c(data)
