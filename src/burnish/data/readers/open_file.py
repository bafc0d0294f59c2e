"""Brings a file's bytes into reach: fetched if remote, unpacked if compressed, with a digest of what was read."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from burnish.data.cache.staged import hold_staged
from burnish.data.sources.address import WEB, DataFile
from burnish.errors import DataError, StorageError

_CHUNK = 1 << 22
_TIMEOUT_SECONDS = 60.0
UTF8_MARK = b"\xef\xbb\xbf"
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")


@contextmanager
def hold_local(file: DataFile) -> Iterator[Path]:
    """Hold a path on this machine for as long as it is needed."""
    if not file.is_remote:
        yield Path(file.location)
        return
    if not file.location.startswith(WEB):
        try:
            with hold_staged(file.location) as path:
                yield path
            return
        except StorageError as error:
            raise DataError(f"data: {error}") from error
    with tempfile.TemporaryDirectory(prefix="burnish-") as folder:
        path = Path(folder, "file")
        from urllib.request import urlopen  # nobody whose files are local waits for it

        try:
            with urlopen(file.location, timeout=_TIMEOUT_SECONDS) as source, path.open("wb") as target:  # noqa: S310  # http(s) alone
                shutil.copyfileobj(source, target, _CHUNK)
                promised = source.headers.get("Content-Length")
                if promised is not None and int(promised) != target.tell():
                    raise ConnectionError(f"the connection ended after {target.tell():,} of {int(promised):,} bytes")
        except Exception as error:  # a server may end a transfer in many ways, and all mean the same to the user
            raise DataError(f"data: {file.location} could not be read: {error or type(error).__name__}") from error
        yield path


def open_unpacked(path: Path, *, file: DataFile) -> pa.Buffer:
    """Open the bytes inside a file: mapped if it is plain, in memory if it is compressed."""
    with _open_stream(path, file) as stream:
        return map_file(path) if stream is None else stream.read_buffer()


def first_bytes(path: Path, *, file: DataFile, size: int) -> pa.Buffer:
    """Open the first bytes inside a file, at most `size`; a file that is not compressed is mapped as a whole."""
    if file.compression is None:
        return map_file(path)
    with _open_stream(path, file) as stream:
        return stream.read_buffer(size)


def unpack(path: Path, target: Path, *, file: DataFile) -> None:
    """Write the bytes inside a compressed file to another."""
    with _open_stream(path, file) as stream, target.open("wb") as out:
        while chunk := stream.read(_CHUNK):
            out.write(chunk)


@contextmanager
def _open_stream(path: Path, file: DataFile) -> Iterator[Any]:
    """Unpack a compressed file as it is read; None for a plain one. What the disk says is told in a sentence."""
    try:
        if file.compression is None:
            yield None
            return
        with pa.OSFile(str(path)) as raw, pa.CompressedInputStream(raw, file.compression) as stream:
            yield stream
    except OSError as error:
        is_torn = error.errno is None and file.compression
        cause = f"it is not a complete {file.compression} file ({error})" if is_torn else error.strerror or str(error)
        raise DataError(f"{file.name} could not be read: {cause}") from error


def map_file(path: Path) -> pa.Buffer:
    """See a file's bytes as if they were in memory."""
    if path.stat().st_size == 0:
        return pa.py_buffer(b"")
    with pa.memory_map(str(path)) as stream:
        return stream.read_buffer()


def text_body(buffer: pa.Buffer, *, name: str) -> pa.Buffer:
    """Strip a byte-order mark and refuse what is plainly no UTF-8 text."""
    head = buffer[:4].to_pybytes() if buffer.size else b""
    if head.startswith(_WIDE_MARKS):
        raise DataError(f"{name} is UTF-16 text; save it as UTF-8")
    body = buffer[len(UTF8_MARK) :] if head.startswith(UTF8_MARK) else buffer
    if body.size == 0:
        raise DataError(f"{name} is empty")
    return body


def is_utf8(buffer: pa.Buffer) -> bool:
    """Tell whether all bytes decode, without making a Python string of them."""
    offsets = pa.py_buffer((0).to_bytes(8, "little") + buffer.size.to_bytes(8, "little"))
    whole = pa.Array.from_buffers(pa.large_string(), 1, [None, offsets, buffer])
    try:
        whole.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def count(buffer: pa.Buffer, needle: bytes) -> int:
    """Count a byte string in a buffer, piece by piece, so that a mapped file is never copied whole."""
    total, overlap = 0, len(needle) - 1
    for start in range(0, buffer.size, _CHUNK):
        total += buffer[start : min(start + _CHUNK + overlap, buffer.size)].to_pybytes().count(needle)
    return total
