"""`tf.train.Example` without TensorFlow or a protobuf schema: one message, a table of them, rows that are sent."""

import io
import re
import struct
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

import numpy as np
import pyarrow as pa

from burnish.data.codecs.answers import as_json_lines
from burnish.data.codecs.columns import ColumnSpec
from burnish.data.codecs.convert import Unfit, from_base64
from burnish.data.codecs.decoded import DEFAULT_LIMITS, NAME, DecodedRows, Limits, gather
from burnish.data.codecs.tfrecord import Record, is_tfrecord, read_records, write_records
from burnish.errors import DataError

FeatureKind = Literal["bytes", "float", "int64"]
_NUMBERS: Mapping[FeatureKind, int] = {"bytes": 1, "float": 2, "int64": 3}
_KINDS: Mapping[int, FeatureKind] = {number: kind for kind, number in _NUMBERS.items()}
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
VARINT, FIXED64, LENGTH, GROUP, END_GROUP, FIXED32 = range(6)
_FIXED = {FIXED64: 8, FIXED32: 4}
_DEEPEST_GROUP = 100
_MAX_TAG_BYTES = 5
_MAX_BYTES = 10
_WORD = (1 << 64) - 1
_ROWS_AT_ONCE = 10_000
_NO_TEXT = re.compile(rb"[^\t\n\r\x20-\x7e]")


@dataclass(frozen=True)
class Feature:
    """A list of values of one kind; no kind and no values if the message names none."""

    kind: FeatureKind | None = None
    values: tuple[bytes, ...] | tuple[float, ...] | tuple[int, ...] = ()


def parse_example(data: bytes, *, wanted: Collection[str] | None = None) -> dict[str, Feature]:
    """Read a message, or raise WireError; features that are not wanted are passed over unread."""
    found: dict[str, Feature] = {}
    for features in _messages(memoryview(data), 1):
        for entry in _messages(features, 1):
            name, parts = _entry(entry)
            if wanted is None or name in wanted:
                found[name] = _feature(parts)  # of a name that comes twice, the last one counts
    return found


def serialise_example(features: Mapping[str, Feature]) -> bytes:
    """Write a message; features are in the order of their names, so equal features give equal bytes."""
    entries = [
        write_delimited(1, name.encode()) + write_delimited(2, _serialise(feature, name=name))
        for name, feature in sorted(features.items())
    ]
    return write_delimited(1, b"".join(write_delimited(1, entry) for entry in entries))


def _messages(data: memoryview, wanted: int) -> list[memoryview]:
    return [value for number, _, value in read_fields(data) if number == wanted and isinstance(value, memoryview)]


def _entry(data: memoryview) -> tuple[str, list[memoryview]]:
    name, parts = "", []
    for number, kind, value in read_fields(data):
        if kind != LENGTH or not isinstance(value, memoryview):
            continue
        if number == 1:
            name = _name(bytes(value))
        elif number == 2:
            parts.append(value)  # a message that is given in parts is all of them together
    return name, parts


def _name(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise WireError("the name of a feature is not UTF-8") from error


def _feature(parts: list[memoryview]) -> Feature:
    kind: FeatureKind | None = None
    values: list[bytes | float | int] = []
    for part in parts:
        for number, wire_kind, value in read_fields(part):
            if number not in _KINDS or wire_kind != LENGTH or not isinstance(value, memoryview):
                continue
            if _KINDS[number] != kind:  # only one of the three can be set, and the last one is
                kind, values = _KINDS[number], []
            values.extend(_READERS[kind](value))
    return Feature(kind, tuple(values))  # type: ignore[arg-type]  # all values are of the one kind


def _bytes_values(data: memoryview) -> list[bytes]:
    return [bytes(value) for number, kind, value in read_fields(data) if number == 1 and kind == LENGTH]


def _float_values(data: memoryview) -> list[float]:
    values: list[float] = []
    for number, kind, value in read_fields(data):
        if number == 1 and kind in (LENGTH, FIXED32) and isinstance(value, memoryview):
            if len(value) % 4:
                raise WireError(f"a list of floats has {len(value)} bytes, which is not a multiple of 4")
            values.extend(struct.unpack(f"<{len(value) // 4}f", value))
    return values


def _int64_values(data: memoryview) -> list[int]:
    values: list[int] = []
    for number, kind, value in read_fields(data):
        if number != 1:
            continue
        if kind == VARINT and isinstance(value, int):
            values.append(value)
        elif kind == LENGTH and isinstance(value, memoryview):
            values.extend(_unpack(value))
    return [value - (1 << 64) if value > _MOST else value for value in values]


def _unpack(data: memoryview) -> list[int]:
    values, at = [], 0
    while at < len(data):
        value, at = read_varint(data, at)
        values.append(value)
    return values


_READERS: Mapping[FeatureKind, Callable[[memoryview], Sequence[bytes | float | int]]] = {
    "bytes": _bytes_values,
    "float": _float_values,
    "int64": _int64_values,
}


def _serialise(feature: Feature, *, name: str) -> bytes:
    if feature.kind is None:
        return b""
    try:
        return write_delimited(_NUMBERS[feature.kind], _LISTS[feature.kind](feature.values))
    except OverflowError as error:
        raise DataError(f"the feature `{name}` holds a number that does not fit: {error}") from error


def _bytes_list(values: Collection[bytes]) -> bytes:
    return b"".join(write_delimited(1, value) for value in values)


def _float_list(values: Collection[float]) -> bytes:
    return write_delimited(1, struct.pack(f"<{len(values)}f", *values)) if values else b""


def _int64_list(values: Collection[int]) -> bytes:
    beyond = next((value for value in values if not _LEAST <= value <= _MOST), None)
    if beyond is not None:
        raise OverflowError(f"{beyond} takes more than 64 bits")
    return write_delimited(1, b"".join(map(write_varint, values))) if values else b""


_LISTS: Mapping[FeatureKind, Callable[[Any], bytes]] = {
    "bytes": _bytes_list,
    "float": _float_list,
    "int64": _int64_list,
}


class WireError(ValueError):
    """Say why bytes are no message."""


def read_fields(data: memoryview) -> Iterator[tuple[int, int, int | memoryview]]:
    """Read number, wire type and value of each field: an integer or a view of bytes; groups are skipped."""
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
    """Read the unsigned integer at a position and the position after it."""
    if at < len(data) and data[at] < 0x80:  # most are one byte long
        return data[at], at + 1
    value = 0
    for shift, byte in enumerate(data[at : at + max_bytes]):
        value |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return value & _WORD, at + shift + 1
    short = len(data) - at < max_bytes
    raise WireError("it ends inside a number" if short else "a number has too many bytes")


def write_varint(value: int) -> bytes:
    """Write an integer of 64 bits; a negative one as its two's complement."""
    value &= _WORD
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def write_delimited(number: int, content: bytes) -> bytes:
    """Write a field that holds bytes: a text, a message or packed numbers."""
    return write_varint(number << 3 | LENGTH) + write_varint(len(content)) + content


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


def write_examples(stream: BinaryIO, table: pa.Table) -> int:
    """Write every row as one record; give how many."""
    return write_records(stream, examples(table))


def examples(table: pa.Table) -> Iterator[bytes]:
    """Serialise every row: floats as `float`, whole numbers and booleans as `int64`, text as `bytes`.

    A list column gives a feature of several values without its nulls; a null in any other column gives no feature.
    """
    makers = [_maker(field) for field in table.schema]
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            given = zip(table.column_names, makers, values, strict=True)
            yield serialise_example({name: make(value) for name, make, value in given if value is not None})


def _maker(field: pa.Field) -> Callable[[Any], Feature]:
    is_list = pa.types.is_list(field.type) or pa.types.is_large_list(field.type)
    kind = _kind(field.type.value_type if is_list else field.type)
    if kind is None:
        raise DataError(
            f"the column `{field.name}` holds {field.type}; a tf.train.Example holds numbers, booleans, text or "
            "bytes, or lists of these"
        )
    found = kind
    return lambda value: Feature(
        found, tuple(_plain(each) for each in (value if is_list else (value,)) if each is not None)
    )


def _kind(kind: pa.DataType) -> FeatureKind | None:
    if pa.types.is_floating(kind):
        return "float"
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return "int64"
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return "bytes" if any(is_(kind) for is_ in texts) else None


def _plain(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else int(value) if isinstance(value, bool) else value


@dataclass(frozen=True)
class Examples:
    """Tell by the first bytes which of the three it is: no message looks like a TFRecord or like base64."""

    def decode(self, payload: bytes, columns: Sequence[ColumnSpec], *, limits: Limits = DEFAULT_LIMITS) -> DecodedRows:
        """Read every message; the names of its features are those of the columns."""
        if not payload:
            raise DataError(f"{NAME} is empty")
        if is_tfrecord(payload):
            records = list(read_records(io.BytesIO(payload), name=NAME))
            limits.check_rows(len(records), what="records")
            return gather(records, columns, read=_read_row)
        # a message with a feature in it has the byte 0x12 before each value, which no line of base64 has
        if payload.strip() and _NO_TEXT.search(payload) is None:
            limits.check_rows(payload.count(b"\n"), what="lines")
            lines = payload.split(b"\n")
            numbers = [line for line, text in enumerate(lines, start=1) if text.strip()]
            return gather([lines[number - 1].decode() for number in numbers], columns, read=_read_row, lines=numbers)
        return gather([Record(payload, is_whole=True)], columns, read=_read_row)

    def encode(self, rows: DecodedRows, answers: pa.Table) -> bytes:
        """Write one answer or error a line, as JSON."""
        return as_json_lines(rows, answers)


def _read_row(given: Record | str, names: Sequence[str]) -> Mapping[str, Any]:
    if isinstance(given, str):
        return example_row(from_base64(given), names)
    if not given.is_whole:
        raise Unfit("its bytes are not those that were written: the checksum differs")
    return example_row(given.data, names)


def example_row(data: bytes, names: Sequence[str]) -> Mapping[str, Any]:
    """Read the value of each feature that is a column; a feature without values is a missing value."""
    try:
        features = parse_example(data, wanted=names)
    except WireError as error:
        raise Unfit(f"is not a tf.train.Example: {error}") from error
    several = [(name, len(each.values)) for name, each in features.items() if len(each.values) > 1]
    if several:
        raise Unfit("; ".join(f"`{name}` holds {count} values where one is expected" for name, count in several))
    return {name: _row_value(each) for name, each in features.items() if each.values}


def _row_value(feature: Feature) -> Any:
    if feature.kind != "float":
        return feature.values[0]
    # The writer had 12.3, and 32 bits hold 12.300000190734863: take the shortest number that these bits stand for, so
    # that an Example and a CSV line of the same row give the same prediction.
    return float(str(np.float32(feature.values[0])))
