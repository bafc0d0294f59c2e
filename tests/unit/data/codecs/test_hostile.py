"""One huge thing in a payload is refused or read with memory of a few times its bytes, Arrow's own counted."""

import json
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Mapping
from contextlib import suppress

import pyarrow as pa
import pytest

from burnish.data.codecs.columns import ColumnSpec, FormatName
from burnish.data.codecs.formats import decode
from burnish.errors import DataError

COLUMNS = [ColumnSpec("who"), ColumnSpec("fare", "number", is_required=False)]
SIZE = 1_000_000
MOST = 16
"""Bytes of memory for a byte of payload."""
POOLS: list[pa.MemoryPool] = []
"""Kept to the end: a buffer that outlives its pool, such as one that an error holds, spoils memory when it goes."""
HUGE: Mapping[str, tuple[FormatName, bytes]] = {
    "lists in lists": ("json", b"[" * SIZE),
    "objects in objects": ("json", b'{"a":' * (SIZE // 5)),
    "a long text": ("json", b'[{"who": "' + b"x" * SIZE + b'"}]'),
    "lists in lists on a line": ("jsonl", b"[" * SIZE),
    "a message of 2^62 bytes": ("example", b"\x0a" + b"\x80" * 8 + b"\x40" + bytes(SIZE)),
    "an entry of 2 GB": ("example", b"\x0a\xc6\x84\x3d\x0a" + b"\x80" * 4 + b"\x08" + bytes(SIZE)),
    "a number that never ends": ("example", b"\xff" * SIZE),
    "a long line of base64": ("example", b"A" * SIZE),
    "a long cell": ("csv", b"who,fare\n" + b"x" * SIZE + b",1\n"),
    "a quote that never ends": ("csv", b"who,fare\n" + b'"' + b"x,\n" * (SIZE // 3)),
    "one long cell and nothing else": ("csv_rows", b"x" * SIZE),
}
WIDE: Mapping[str, tuple[FormatName, bytes]] = {
    "csv": ("csv", b"who,fare\n" + b"," * 40_000 + b"\n"),
    "csv_rows": ("csv_rows", b"," * 40_000 + b"\n"),
}


def peak_of(format: FormatName, payload: bytes) -> int:
    """Decode, and give the most memory that Python and Arrow held at once for it."""
    decode(b'[{"who": "x"}]', COLUMNS, format="json")  # what is imported at the first call is no part of it
    usual, counted = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    POOLS.append(counted)
    pa.set_memory_pool(counted)
    tracemalloc.start()
    try:
        with suppress(DataError):
            decode(payload, COLUMNS, format=format)
    finally:
        peak = tracemalloc.get_traced_memory()[1] + counted.max_memory()
        tracemalloc.stop()
        pa.set_memory_pool(usual)
    return peak


@pytest.fixture(scope="module")
def peaks() -> Mapping[str, int]:
    """Measured in a process that does nothing else: allocations are counted for all threads of a process."""
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    measured: Mapping[str, int] = json.loads(done.stdout)
    return measured


@pytest.mark.parametrize("name", HUGE)
def test_memory_stays_a_small_multiple_of_the_payload(peaks: Mapping[str, int], name: str) -> None:
    assert peaks[name] < MOST * len(HUGE[name][1])


@pytest.mark.parametrize("name", WIDE)
def test_a_line_of_forty_thousand_cells_takes_more_but_not_much(peaks: Mapping[str, int], name: str) -> None:
    assert peaks[name] < 2 * MOST * len(WIDE[name][1])


def test_what_is_measured_is_the_decoding(peaks: Mapping[str, int]) -> None:
    """A text takes at least its own bytes, so that a peak of nothing would mean that nothing was measured."""
    assert peaks["a long text"] > len(HUGE["a long text"][1])


if __name__ == "__main__":
    print(json.dumps({name: peak_of(*each) for name, each in {**HUGE, **WIDE}.items()}), flush=True)  # noqa: T201
    os._exit(0)  # or the pools might go before the last of their buffers
