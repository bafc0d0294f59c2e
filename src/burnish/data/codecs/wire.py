"""Protobuf's wire format: the fields of a message, read and written, with no schema."""

from collections.abc import Iterator

VARINT, FIXED64, LENGTH, GROUP, END_GROUP, FIXED32 = range(6)
_FIXED = {FIXED64: 8, FIXED32: 4}
_DEEPEST_GROUP = 100
_MAX_TAG_BYTES = 5
_MAX_BYTES = 10
_WORD = (1 << 64) - 1


class WireError(ValueError):
    """Say why bytes are no message."""


def fields(data: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """Give number, wire type and value of each field: an integer or a view of bytes; groups are skipped."""
    at, end = 0, len(data)
    groups: list[int] = []
    while at < end:
        number, kind, at = _tag(data, at)
        if kind in (GROUP, END_GROUP):
            _enter_or_leave(groups, number, kind)
            continue
        value, at = _value(data, at, kind)
        if not groups:
            yield number, kind, value
    if groups:
        raise WireError("a group is never closed")


def read_varint(data: memoryview, at: int, *, max_bytes: int = _MAX_BYTES) -> tuple[int, int]:
    """Give the unsigned integer at a position and the position after it."""
    if at < len(data) and data[at] < 0x80:  # most are one byte long
        return data[at], at + 1
    value = 0
    for shift, byte in enumerate(data[at : at + max_bytes]):
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value & _WORD, at + shift + 1
    short = len(data) - at < max_bytes
    raise WireError("it ends inside a number" if short else "a number has too many bytes")


def varint(value: int) -> bytes:
    """Write an integer of 64 bits; a negative one as its two's complement."""
    value &= _WORD
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def length_delimited(number: int, content: bytes) -> bytes:
    """Write a field that holds bytes: a text, a message or packed numbers."""
    return varint(number << 3 | LENGTH) + varint(len(content)) + content


def _tag(data: memoryview, at: int) -> tuple[int, int, int]:
    tag, at = read_varint(data, at, max_bytes=_MAX_TAG_BYTES)
    number, kind = tag >> 3, tag & 7
    if number == 0 or tag >= 1 << 32:
        raise WireError(f"a field has the impossible number {number}")
    if kind > FIXED32:
        raise WireError(f"a field has the unknown wire type {kind}")
    return number, kind, at


def _value(data: memoryview, at: int, kind: int) -> tuple[int | memoryview, int]:
    if kind == VARINT:
        return read_varint(data, at)
    size = _FIXED.get(kind)
    if size is None:
        size, at = read_varint(data, at)
    if size > len(data) - at:
        raise WireError(f"a field of {size} bytes begins {len(data) - at} before the end")
    return data[at : at + size], at + size


def _enter_or_leave(groups: list[int], number: int, kind: int) -> None:
    if kind == GROUP:
        groups.append(number)
        if len(groups) > _DEEPEST_GROUP:
            raise WireError(f"groups are nested more than {_DEEPEST_GROUP} deep")
    elif not groups or groups.pop() != number:
        raise WireError(f"group {number} is closed but was not open")
