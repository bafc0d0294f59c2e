"""Values as bytes and back, for travel between processes: JSON with arrays in it, and nothing that could run code."""

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

_ARRAY = "$array"
_LENGTH = struct.Struct("<Q")


def pack(value: Any) -> bytes:
    """Return a value as bytes: the length of its outline, the outline as JSON, and the arrays' own bytes."""
    buffers: list[bytes] = []
    outline = json.dumps(_outlined(value, buffers)).encode()
    return b"".join([_LENGTH.pack(len(outline)), outline, *buffers])


def unpack(content: bytes) -> Any:
    """Give back what was packed; tuples come back as lists."""
    start = _LENGTH.size
    end = start + _LENGTH.unpack_from(content)[0]
    return _filled(json.loads(content[start:end]), _Unpacker(content, end))


def _outlined(value: Any, buffers: list[bytes]) -> Any:
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError(f"an array of {value.dtype} holds objects, and only numbers and text can travel")
        buffers.append(np.ascontiguousarray(value).tobytes())
        return {_ARRAY: [value.dtype.str, list(value.shape)]}
    if isinstance(value, Mapping):
        odd = [key for key in value if not isinstance(key, str) or key == _ARRAY]
        if odd:
            raise TypeError(f"keys must be text other than {_ARRAY!r}, got {odd[0]!r}")
        return {key: _outlined(item, buffers) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_outlined(item, buffers) for item in value]
    return value


def _filled(outline: Any, reader: "_Unpacker") -> Any:
    if isinstance(outline, dict):
        if _ARRAY in outline:
            dtype, shape = outline[_ARRAY]
            return reader.array(np.dtype(dtype), tuple(shape))
        return {key: _filled(item, reader) for key, item in outline.items()}
    return [_filled(item, reader) for item in outline] if isinstance(outline, list) else outline


class _Unpacker:
    """Take arrays off the end of a packed value, one after another."""

    def __init__(self, content: bytes, start: int) -> None:
        self._content = content
        self._place = start

    def array(self, dtype: "np.dtype[Any]", shape: tuple[int, ...]) -> "np.ndarray[Any, Any]":
        count = int(np.prod(shape, dtype=np.int64))
        flat = np.frombuffer(self._content, dtype=dtype, count=count, offset=self._place)
        self._place += flat.nbytes
        return flat.reshape(shape).copy()
