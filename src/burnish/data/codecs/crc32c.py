"""The checksum of TFRecord files: CRC-32C, and the masked form that is stored."""

from typing import Any

import numpy as np

_Words = np.ndarray[Any, np.dtype[np.uint32]]
_POLYNOMIAL = 0x82F63B78  # Castagnoli's, bits reversed
_ALL = 0xFFFFFFFF
_MASK_DELTA = 0xA282EAD8
_SHORT = 4096


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
    """Give the CRC-32C of bytes; that of b"123456789" is 0xE3069283."""
    return _in_lanes(data) if len(data) >= _SHORT else _byte_by_byte(data)


def masked_crc32c(data: bytes) -> int:
    """Give the checksum as TFRecord stores it, so that a record of records does not look like its own checksum."""
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
    return _joined(registers[:num_lanes].tolist(), shifted=registers[num_lanes:]) ^ _ALL


def _joined(checksums: list[int], *, shifted: _Words) -> int:
    crc = 0
    for checksum in checksums:
        moved = np.bitwise_xor.reduce(shifted[(crc & _BITS) != 0], initial=np.uint32(0))
        crc = int(moved) ^ checksum
    return crc
