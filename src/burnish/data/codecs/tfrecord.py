"""TFRecord files: records one after another, each with its length and two checksums (CRC-32C)."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from burnish.errors import DataError
from burnish.extras import require

_HEAD = struct.Struct("<QI")
_SUM = struct.Struct("<I")
MAX_RECORD_BYTES = 1 << 28
FRAME_BYTES = _HEAD.size + _SUM.size
"""What a record takes besides its own bytes."""
_ALL = 0xFFFFFFFF
_MASK_DELTA = 0xA282EAD8


@dataclass(frozen=True)
class Record:
    """The bytes of a record, and whether they are those that were written."""

    data: bytes
    is_whole: bool


def write_records(stream: BinaryIO, records: Iterable[bytes]) -> int:
    """Write records one by one; give how many."""
    count = 0
    for data in records:
        length = struct.pack("<Q", len(data))
        stream.write(length + _SUM.pack(mask_crc32c(length)) + data + _SUM.pack(mask_crc32c(data)))
        count += 1
    return count


def read_records(stream: BinaryIO, *, name: str, max_bytes: int = MAX_RECORD_BYTES) -> Iterator[Record]:
    """Read records one by one; a length that cannot be trusted is refused."""
    number = 1
    while head := _read(stream, _HEAD.size):
        length, checksum = _HEAD.unpack(head) if len(head) == _HEAD.size else (0, None)
        if checksum is None:
            raise DataError(f"{name} record {number} is cut short: {len(head)} bytes of its head are there")
        if checksum != mask_crc32c(head[:8]):
            raise DataError(
                f"{name} record {number} is damaged, or this is not a TFRecord file: its length fails its checksum"
            )
        if length > max_bytes:
            raise DataError(f"{name} record {number} has {length:,} bytes, but only {max_bytes:,} are allowed")
        yield _body(stream, length, place=f"{name} record {number}")
        number += 1


def is_tfrecord(start: bytes) -> bool:
    """Tell whether bytes begin with a length and its checksum."""
    return len(start) >= _HEAD.size and _HEAD.unpack_from(start)[1] == mask_crc32c(start[:8])


def _body(stream: BinaryIO, length: int, *, place: str) -> Record:
    data = _read(stream, length)
    checksum = _read(stream, _SUM.size)
    if len(data) < length or len(checksum) < _SUM.size:
        raise DataError(f"{place} is cut short: {len(data):,} of {length:,} bytes are there")
    return Record(data, _SUM.unpack(checksum)[0] == mask_crc32c(data))


def _read(stream: BinaryIO, size: int) -> bytes:
    """Read so many bytes, or all there are: a pipe may give fewer at a time."""
    parts = []
    while size and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def mask_crc32c(data: bytes) -> int:
    """Compute the checksum as TFRecord stores it, so that a record of records does not look like its own checksum."""
    crc = int(require("google_crc32c", extra="tfrecord", why="for the checksums of TFRecord files").value(data))
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ALL
