"""Checksums of records are those that others write."""

import pytest

from burnish.data.codecs.tfrecord import mask_crc32c


def test_the_masked_form_is_what_tensorboard_writes() -> None:
    theirs = pytest.importorskip("tensorboard.compat.tensorflow_stub.pywrap_tensorflow", reason="tensorboard is absent")
    for data in (b"", b"abc", bytes(5000)):
        assert mask_crc32c(data) == theirs.masked_crc32c(data)
