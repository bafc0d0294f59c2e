"""Refuses graphs that would make onnxruntime read other files; reads protobuf itself, so that `onnx` is not needed."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from burnish.errors import CheckpointError

_MESSAGES: Mapping[str, Mapping[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse tensor"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse tensor", 23: "sparse tensor"},
    "sparse tensor": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
"""The fields, by their numbers in onnx.proto, that lead to tensors and nodes."""
_NAME, _OPERATOR, _EXTERNAL_DATA, _DATA_LOCATION = 8, 4, 13, 14
_READS_FILES = b"EPContext"
"""The operator of onnxruntime whose attributes name a file."""
_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5
_MOST_TAG_BYTES, _MOST_VARINT_BYTES = 5, 10
_RUN_OF_NUMBERS = re.compile(
    b"(?:[\x08\x10\x18\x20\x28\x30\x38\x40\x48\x50\x58\x60\x68\x78][\x80-\xff]{0,9}[\x00-\x7f]"
    b"|[\x0d\x15\x1d\x25\x2d\x35\x3d\x45\x4d\x55\x5d\x65\x6d\x75\x7d].{4})+",
    re.DOTALL,
)
"""Numbers one after another, as trees have them by the million; all but the location of a tensor's data."""


class _Malformed(Exception):
    """The bytes are not protobuf, or not of the plain kind that exporters write."""


def refuse_outside_data(content: bytes, *, source: Path) -> None:
    """Refuse a graph that names a file, wherever it does so, and what is not a graph of ONNX at all."""
    try:
        _check_all(content, source)
    except _Malformed as error:
        raise CheckpointError(f"{source} is not a graph that can be read safely: {error}; export it again") from error


def _check_all(content: bytes, source: Path) -> None:
    if content[4:8] == b"ORTM":
        raise _Malformed("it has the format of onnxruntime itself")
    open_messages = [("model", 0, len(content))]
    while open_messages:
        kind, start, end = open_messages.pop()
        name = ""
        is_outside = False
        for number, wire_type, first, last in _fields(content, start, end):
            inner = _MESSAGES[kind].get(number)
            if inner is not None and wire_type == _LENGTH:
                open_messages.append((inner, first, last))
            elif kind == "node" and number == _OPERATOR and content[first:last] == _READS_FILES:
                raise CheckpointError(f"{source} uses {_READS_FILES.decode()}, an operator that reads other files")
            elif kind == "tensor" and number == _NAME:
                name = content[first:last].decode(errors="replace")
            elif kind == "tensor" and number == _EXTERNAL_DATA:
                is_outside = True
            elif kind == "tensor" and number == _DATA_LOCATION:
                is_outside |= wire_type != _VARINT or _read_varint(content, first, last)[0] != 0
        if is_outside:
            raise CheckpointError(
                f"{source} keeps the data of a tensor in another file (`{name[:80]}`), which could be any file of this "
                "machine; export it again with all data in the graph"
            )


def _fields(content: bytes, start: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Give the number and wire type of each field of a message, and where its value begins and ends."""
    place = start
    while place < end:
        numbers = _RUN_OF_NUMBERS.match(content, place, end)
        if numbers is not None:
            place = numbers.end()
            continue
        tag, place = _read_varint(content, place, min(end, place + _MOST_TAG_BYTES))
        tag &= 0xFFFFFFFF  # as onnxruntime's reader cuts it
        wire_type = tag & 7
        first = place
        if wire_type == _VARINT:
            _, place = _read_varint(content, place, end)
        elif wire_type == _LENGTH:
            length, first = _read_varint(content, place, end)
            place = first + length
        elif wire_type in (_FOUR_BYTES, _EIGHT_BYTES):
            place += 4 if wire_type == _FOUR_BYTES else 8
        else:
            raise _Malformed(f"byte {place:,} begins a group, which no exporter writes")
        if place > end:
            raise _Malformed(f"a field at byte {first:,} is longer than what it is part of")
        yield tag >> 3, wire_type, first, place


def _read_varint(content: bytes, place: int, end: int) -> tuple[int, int]:
    """Give a number of up to ten bytes, of which the last has no high bit, and where it ends."""
    value = 0
    for position in range(place, min(end, place + _MOST_VARINT_BYTES)):
        byte = content[position]
        value |= (byte & 0x7F) << 7 * (position - place)
        if byte < 0x80:
            return value, position + 1
    raise _Malformed(f"the number at byte {place:,} has no end")
