"""TFRecord files: records one after another, each with its length and two checksums (CRC-32C)."""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from burnish.errors import DataError

_HEAD = struct.Struct("<QI")
_SUM = struct.Struct("<I")
MAX_RECORD_BYTES = 1 << 28
FRAME_BYTES = _HEAD.size + _SUM.size
"""What a record takes besides its own bytes."""
_Words = np.ndarray[Any, np.dtype[np.uint32]]
_POLYNOMIAL = 0x82F63B78  # Castagnoli's, bits reversed
_ALL = 0xFFFFFFFF
_MASK_DELTA = 0xA282EAD8
_SHORT = 4096


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


def _table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)  # noqa: PLW2901  # the byte is the register
        table.append(byte)
    return tuple(table)


_TABLE = _table()
_TABLE_WORDS: _Words = np.array(_TABLE, dtype=np.uint32)
_BITS: _Words = np.left_shift(np.uint32(1), np.arange(32, dtype=np.uint32))


def crc32c(data: bytes) -> int:
    """Compute the CRC-32C of bytes; that of b"123456789" is 0xE3069283."""
    return _in_lanes(data) if len(data) >= _SHORT else _byte_by_byte(data)


def mask_crc32c(data: bytes) -> int:
    """Compute the checksum as TFRecord stores it, so that a record of records does not look like its own checksum."""
    crc = crc32c(data)
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & _ALL


def _byte_by_byte(data: bytes) -> int:
    crc = _ALL
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ _ALL


def _in_lanes(data: bytes) -> int:
    """Check pieces of the data side by side: the checksum is linear, so the pieces' own can be joined afterwards."""
    length = round(len(data) ** 0.5)
    num_lanes = -(-len(data) // length)
    # Zeros in front change nothing while the register is zero. So the register begins as zero, and its usual beginning,
    # all ones, is laid over the first four bytes instead.
    padded = np.zeros(num_lanes * length, dtype=np.uint8)
    padded[-len(data) :] = np.frombuffer(data, dtype=np.uint8)
    padded[-len(data) :][:4] ^= 0xFF
    # The last 32 lanes read only zeros: they tell what each bit of the register becomes over the length of a lane.
    lanes = np.zeros((num_lanes + 32, length), dtype=np.uint8)
    lanes[:num_lanes] = padded.reshape(num_lanes, length)
    registers = np.concatenate([np.zeros(num_lanes, dtype=np.uint32), _BITS])
    for column in lanes.T.copy():
        registers = _TABLE_WORDS[(registers ^ column) & 0xFF] ^ (registers >> np.uint32(8))
    return _join_lanes(registers[:num_lanes].tolist(), shifted=registers[num_lanes:]) ^ _ALL


def _join_lanes(checksums: list[int], *, shifted: _Words) -> int:
    crc = 0
    for checksum in checksums:
        moved = np.bitwise_xor.reduce(shifted[(crc & _BITS) != 0], initial=np.uint32(0))
        crc = int(moved) ^ checksum
    return crc
