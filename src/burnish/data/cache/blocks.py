"""Cuts a large text file into blocks of whole lines, and looks through it without holding it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from burnish.data.readers.open_file import text_body

_BLOCK = 1 << 24


class Odd(Exception):
    """Says that something about a file calls for the exact way to read it, which needs the whole of it."""


def blocks(path: Path, *, name: str) -> Iterator[pa.Buffer]:
    """Give a file's bytes in blocks that end with a line; a byte-order mark is left out, UTF-16 refused."""
    rest = b""
    is_first = True
    with path.open("rb") as file:
        while True:
            read = file.read(_BLOCK)
            cut = read.rfind(b"\n") + 1 or (0 if read else None)
            block, rest = (rest + read[:cut], read[cut:]) if cut else (b"", rest + read)
            if not read:
                block, rest = rest, b""
            if block:
                yield text_body(pa.py_buffer(block), name=name) if is_first else pa.py_buffer(block)
                is_first = False
            if not read:
                return


def count_in(path: Path, needles: Sequence[bytes]) -> Mapping[bytes, int]:
    """Count some byte strings in a file."""
    totals = dict.fromkeys(needles, 0)
    overlap = max(map(len, needles)) - 1
    tail = b""
    with path.open("rb") as file:
        while read := file.read(_BLOCK):
            for needle in needles:
                # what lies in the tail alone was counted with the block before
                seen = tail[len(tail) - len(needle) + 1 :] if len(needle) > 1 else b""
                totals[needle] += (seen + read).count(needle)
            tail = (tail + read)[-overlap:] if overlap else b""
    return totals


def blank_end(path: Path) -> int:
    """Count the line feeds after the last byte that is no line end."""
    size = path.stat().st_size
    step = 1 << 12
    with path.open("rb") as file:
        for start in range(max(0, size - step), -1, -step):
            file.seek(start)
            tail = file.read(size - start)
            kept = tail.rstrip(b"\r\n")
            if kept:
                return tail[len(kept) :].count(b"\n")
    return 0
