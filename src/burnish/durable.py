"""Writes files so that a crash leaves the old content or the new, never half of it; reads JSON, whoever wrote it."""

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from burnish.errors import BurnishError, DataError

_Result = TypeVar("_Result")


@contextmanager
def writing_to(path: Path, *, refuse: type[BurnishError] = DataError) -> Iterator[None]:
    """Make the folder of what is about to be written, and refuse in a sentence what cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise refuse(f"{path} could not be written: {error.strerror or error}") from error


def write_durably(path: Path, content: bytes) -> None:
    """Replace a file's content in one step that survives a power cut."""
    replace_durably(path, lambda temporary: temporary.write_bytes(content))


def replace_durably(path: Path, write: Callable[[Path], _Result]) -> _Result:
    """Let `write` fill a temporary file beside `path`, put it in place, and give what `write` gave."""
    # A name of its own for each writer: two that replace one file at the same time must not share a temporary one.
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        result = write(temporary)
        sync_file(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_folder(path.parent)
    return result


@contextmanager
def stage_folder(path: Path, *, name: str = "") -> Iterator[Path]:
    """Let the caller fill a folder under another name, `.<name>.building`, and put it in place whole.

    Nothing is left of it after an error: on a full disk, half a folder would take the room that the next try needs.
    """
    building = path.with_name(f".{name or path.name}.building")
    shutil.rmtree(building, ignore_errors=True)  # what a crash has left
    building.mkdir(parents=True)
    try:
        yield building
        os.replace(building, path)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    sync_folder(path.parent)


def read_whole_lines(path: Path) -> list[bytes]:
    """Read the lines of a file that is only ever added to; half a line at its end was never written."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    return content[: content.rfind(b"\n") + 1].splitlines(keepends=True)


def append_durably(path: Path, line: bytes) -> None:
    """Add one line that survives a power cut; what a crash left of another is cut off first."""
    with open(path, "ab", buffering=0) as file:
        file.truncate(sum(map(len, read_whole_lines(path))))
        if file.write(line) != len(line):
            raise OSError(errno.ENOSPC, "the disk took only a part of the line", str(path))
        os.fsync(file.fileno())
    sync_folder(path.parent)


def sync_file(path: Path) -> None:
    """Force a file's bytes to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Force a folder's entries to the disk; without it a rename may be forgotten."""
    sync_file(path)


def read_json(path: Path) -> Any:
    """Read a JSON file that anybody may have written; whatever is wrong with it is an OSError or a ValueError."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise ValueError(f"{path.name} is nested too deeply") from error


def sha256_of(path: Path) -> str:
    """Digest a file without holding it in memory."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
