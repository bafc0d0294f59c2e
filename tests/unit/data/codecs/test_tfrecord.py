"""Records come back as they were written; damage is found where it is."""

import io
import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.codecs.example import Feature, parse_example, write_examples
from burnish.data.codecs.tfrecord import is_tfrecord, read_records, write_records
from burnish.errors import DataError


def written(*records: bytes) -> bytes:
    stream = io.BytesIO()
    assert write_records(stream, records) == len(records)
    return stream.getvalue()


def read(data: bytes) -> list[bytes]:
    return [record.data for record in read_records(io.BytesIO(data), name="x")]


class Trickle(io.BytesIO):
    """Give three bytes at a time, as a pipe may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(3 if size is None or size < 0 else min(size, 3))


@given(st.lists(st.binary(max_size=50), max_size=5))
def test_records_come_back_as_they_were_written(records: list[bytes]) -> None:
    assert read(written(*records)) == records
    assert [record.data for record in read_records(Trickle(written(*records)), name="x")] == records


def test_tensorboard_reads_them(tmp_path) -> None:
    stub = pytest.importorskip("tensorboard.compat.tensorflow_stub", reason="tensorboard is absent")
    path = tmp_path / "records"
    path.write_bytes(written(b"one", b"", b"three" * 2000))
    reader = stub.pywrap_tensorflow.PyRecordReader_New(str(path))
    for expected in (b"one", b"", b"three" * 2000):
        reader.GetNext()
        assert reader.record() == expected
    with pytest.raises(stub.errors.OutOfRangeError):
        reader.GetNext()


@given(st.binary(max_size=60), st.binary(min_size=1, max_size=60), st.data())
def test_a_changed_byte_is_noticed(first: bytes, second: bytes, data: st.DataObject) -> None:
    whole = bytearray(written(first, second))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    try:
        records = list(read_records(io.BytesIO(bytes(whole)), name="x"))
    except DataError:
        return
    assert [record.is_whole for record in records].count(False) == 1


@given(st.binary(max_size=100))
def test_random_bytes_are_no_records(data: bytes) -> None:
    if data:
        with pytest.raises(DataError):
            read(data)
    assert not is_tfrecord(data)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (written(b"abc")[:5], "x record 1 is cut short: 5 bytes of its head are there"),
        (written(b"abc")[:-1], "x record 1 is cut short: 3 of 3 bytes are there"),
        (written(b"one") + b"y" * 12, "x record 2 is damaged, or this is not a TFRecord"),
        (written(b"")[:0] + struct.pack("<Q", 1 << 40) + struct.pack("<I", 0xDEAD), "fails its checksum"),
    ],
)
def test_a_refusal_names_the_record(data: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read(data)


def test_a_length_that_would_take_all_memory_is_refused() -> None:
    from burnish.data.codecs.tfrecord import mask_crc32c

    length = struct.pack("<Q", 1 << 60)
    with pytest.raises(DataError, match="has 1,152,921,504,606,846,976 bytes, but only 268,435,456 are allowed"):
        read(length + struct.pack("<I", mask_crc32c(length)))


def test_a_table_becomes_one_feature_a_column() -> None:
    table = pa.table({"n": [1.5, None], "i": [3, -4], "b": [True, False], "t": ["é", ""], "l": [[1, None, 2], []]})
    stream = io.BytesIO()
    assert write_examples(stream, table) == 2
    first, second = map(parse_example, read(stream.getvalue()))
    assert first["n"] == Feature("float", (1.5,))
    assert first["t"] == Feature("bytes", ("é".encode(),))
    assert first["l"] == Feature("int64", (1, 2))
    assert second == {
        "i": Feature("int64", (-4,)),
        "b": Feature("int64", (0,)),
        "t": Feature("bytes", (b"",)),
        "l": Feature("int64", ()),
    }


def test_a_column_that_no_feature_can_hold_is_refused() -> None:
    with pytest.raises(DataError, match=r"`when` holds date32.*numbers, booleans, text or bytes"):
        write_examples(io.BytesIO(), pa.table({"when": pa.array([1], pa.date32())}))
