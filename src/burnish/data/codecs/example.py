"""Serialised `tf.train.Example`: named lists of bytes, floats or whole numbers, read and written without TensorFlow."""

import struct
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from burnish.data.codecs.wire import FIXED32, LENGTH, VARINT, WireError, fields, length_delimited, read_varint, varint
from burnish.errors import DataError

FeatureKind = Literal["bytes", "float", "int64"]
_NUMBERS: Mapping[FeatureKind, int] = {"bytes": 1, "float": 2, "int64": 3}
_KINDS: Mapping[int, FeatureKind] = {number: kind for kind, number in _NUMBERS.items()}
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


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
        length_delimited(1, name.encode()) + length_delimited(2, _serialised(feature, name=name))
        for name, feature in sorted(features.items())
    ]
    return length_delimited(1, b"".join(length_delimited(1, entry) for entry in entries))


def _messages(data: memoryview, wanted: int) -> list[memoryview]:
    return [value for number, _, value in fields(data) if number == wanted and isinstance(value, memoryview)]


def _entry(data: memoryview) -> tuple[str, list[memoryview]]:
    name, parts = "", []
    for number, kind, value in fields(data):
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
        for number, wire_kind, value in fields(part):
            if number not in _KINDS or wire_kind != LENGTH or not isinstance(value, memoryview):
                continue
            if _KINDS[number] != kind:  # only one of the three can be set, and the last one is
                kind, values = _KINDS[number], []
            values.extend(_READERS[kind](value))
    return Feature(kind, tuple(values))  # type: ignore[arg-type]  # all values are of the one kind


def _bytes_values(data: memoryview) -> list[bytes]:
    return [bytes(value) for number, kind, value in fields(data) if number == 1 and kind == LENGTH]


def _float_values(data: memoryview) -> list[float]:
    values: list[float] = []
    for number, kind, value in fields(data):
        if number == 1 and kind in (LENGTH, FIXED32) and isinstance(value, memoryview):
            if len(value) % 4:
                raise WireError(f"a list of floats has {len(value)} bytes, which is not a multiple of 4")
            values.extend(struct.unpack(f"<{len(value) // 4}f", value))
    return values


def _int64_values(data: memoryview) -> list[int]:
    values: list[int] = []
    for number, kind, value in fields(data):
        if number != 1:
            continue
        if kind == VARINT and isinstance(value, int):
            values.append(value)
        elif kind == LENGTH and isinstance(value, memoryview):
            values.extend(_packed(value))
    return [value - (1 << 64) if value > _MOST else value for value in values]


def _packed(data: memoryview) -> list[int]:
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


def _serialised(feature: Feature, *, name: str) -> bytes:
    if feature.kind is None:
        return b""
    try:
        return length_delimited(_NUMBERS[feature.kind], _LISTS[feature.kind](feature.values))
    except OverflowError as error:
        raise DataError(f"the feature `{name}` holds a number that does not fit: {error}") from error


def _bytes_list(values: Collection[bytes]) -> bytes:
    return b"".join(length_delimited(1, value) for value in values)


def _float_list(values: Collection[float]) -> bytes:
    return length_delimited(1, struct.pack(f"<{len(values)}f", *values)) if values else b""


def _int64_list(values: Collection[int]) -> bytes:
    beyond = next((value for value in values if not _LEAST <= value <= _MOST), None)
    if beyond is not None:
        raise OverflowError(f"{beyond} takes more than 64 bits")
    return length_delimited(1, b"".join(map(varint, values))) if values else b""


_LISTS: Mapping[FeatureKind, Callable[[Any], bytes]] = {
    "bytes": _bytes_list,
    "float": _float_list,
    "int64": _int64_list,
}
