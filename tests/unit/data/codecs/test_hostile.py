"""One huge thing in a payload is refused or read with memory of a few times its bytes, Arrow's own counted."""

import tracemalloc
from contextlib import suppress

import pyarrow as pa
import pytest

from burnish.data.codecs.columns import ColumnSpec
from burnish.data.codecs.formats import decode
from burnish.data.codecs.names import FormatName
from burnish.data.codecs.wire import length_delimited, varint
from burnish.errors import DataError

COLUMNS = [ColumnSpec("who"), ColumnSpec("fare", "number", is_required=False)]
SIZE = 1_000_000
MOST = 16
"""Bytes of memory for a byte of payload."""
POOLS: list[pa.MemoryPool] = []
"""Kept to the end: a buffer that outlives its pool, such as one that an error holds, spoils memory when it goes."""


def peak_of(payload: bytes, format: FormatName) -> int:
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


@pytest.mark.parametrize(
    ("format", "payload"),
    [
        pytest.param("json", b"[" * SIZE, id="lists in lists"),
        pytest.param("json", b'{"a":' * (SIZE // 5), id="objects in objects"),
        pytest.param("json", b'[{"who": "' + b"x" * SIZE + b'"}]', id="a long text"),
        pytest.param("jsonl", b"[" * SIZE, id="lists in lists on a line"),
        pytest.param("example", b"\x0a" + varint(1 << 62) + bytes(SIZE), id="a message of 2^62 bytes"),
        pytest.param("example", length_delimited(1, b"\x0a" + varint(1 << 31) + bytes(SIZE)), id="an entry of 2 GB"),
        pytest.param("example", b"\xff" * SIZE, id="a number that never ends"),
        pytest.param("example", b"A" * SIZE, id="a long line of base64"),
        pytest.param("csv", b"who,fare\n" + b"x" * SIZE + b",1\n", id="a long cell"),
        pytest.param("csv", b"who,fare\n" + b'"' + b"x,\n" * (SIZE // 3), id="a quote that never ends"),
        pytest.param("csv_rows", b"x" * SIZE, id="one long cell and nothing else"),
    ],
)
def test_memory_stays_a_small_multiple_of_the_payload(format: FormatName, payload: bytes) -> None:
    assert peak_of(payload, format) < MOST * len(payload)


@pytest.mark.parametrize("format", ["csv", "csv_rows"])
def test_a_line_of_forty_thousand_cells_takes_more_but_not_much(format: FormatName) -> None:
    payload = b"who,fare\n" * (format == "csv") + b"," * 40_000 + b"\n"
    assert peak_of(payload, format) < 2 * MOST * len(payload)
