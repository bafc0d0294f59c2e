"""Tables that lie in files: seen through memory maps whose pages can be given back, locked while anyone looks."""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa


@dataclass(frozen=True)
class Stored:
    """A table in a file; memory holds only what is being looked at."""

    digest: str
    """Tells this content from any other."""
    table: pa.Table
    release: Callable[[], None]
    """Give back the memory of all that was looked at so far; looking again brings it back."""


class FolderLock:
    """Hold a folder against removal, together with others or alone, until it is closed or forgotten."""

    def __init__(self, folder: Path, *, alone: bool = False) -> None:
        self._handle: int | None = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB if alone else fcntl.LOCK_SH)
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Let go; closing twice is harmless."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        with suppress(AttributeError):  # there is no handle if the folder was not there
            self.close()


class _Map(mmap.mmap):
    lock: FolderLock | None = None
    """Lives as long as the bytes are in reach, for Arrow's buffers keep this object."""


def open_stored(path: Path, *, digest: str, lock: FolderLock | None = None) -> Stored:
    """Map an Arrow file; OSError or ArrowInvalid if it is none."""
    with path.open("rb") as file:
        mapped = _Map(file.fileno(), 0, access=mmap.ACCESS_READ)
    mapped.lock = lock
    table = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapped))).read_all()
    mapped.madvise(mmap.MADV_DONTNEED)  # opening looked into every part
    return Stored(digest, table, lambda: mapped.madvise(mmap.MADV_DONTNEED))
