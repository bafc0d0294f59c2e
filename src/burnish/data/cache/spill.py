"""Keeps rows that are too many for memory in mapped files, and walks through, encodes and judges them part by part."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.cache.features import Stored, open_cache
from burnish.spec.protocols import Encoder
from burnish.spec.values import Array, MemoryMapped, RowFault, RowOrigins, Rows

LARGE_BYTES = 1 << 24
"""A table of fewer bytes stays in memory, where it is quicker at hand."""
VERSION = 2
"""Goes up whenever the same file would give other rows."""

_PART_BYTES = 1 << 23
_PART_ROWS = 8192
_NOWHERE = np.empty(0, dtype=np.int32)
_CHUNK_BYTES = 1 << 24
"""A batch is gathered from a few large chunks faster than from many small ones; while one is made, memory holds two."""


def spool(key: Mapping[str, object], make: Callable[[], Iterator[pa.Table]]) -> tuple[pa.Table, MemoryMapped]:
    """Open a table in the cache, written part by part if it is not there yet."""
    stored = open_cache().store({"kind": "rows", "version": VERSION, **key}, make)
    return stored.table, MemoryMapped(stored.digest, stored.release)


def keep_chosen(rows: Rows, mask: Array) -> tuple[pa.Table, MemoryMapped | None]:
    """Keep the rows of a held table where the mask is true: in memory if they are few, else in their own file."""
    assert rows.held is not None, "a table in memory is filtered at once"
    if rows.table.get_total_buffer_size() * float(mask.mean()) < LARGE_BYTES:
        return pa.concat_tables([rows.table.schema.empty_table(), *_filter_parts(rows, mask)]).combine_chunks(), None
    key = {
        "data": rows.held.digest,
        "columns": rows.table.column_names,
        "selection": hashlib.sha256(np.packbits(mask).tobytes()).hexdigest(),
    }
    return spool(key, lambda: _filter_parts(rows, mask))


def _filter_parts(rows: Rows, mask: Array) -> Iterator[pa.Table]:
    for start, part in in_parts(rows):
        yield part.table.filter(pa.array(mask[start : start + len(part)]))


def in_parts(rows: Rows) -> Iterator[tuple[int, Rows]]:
    """Walk through the rows in order, some thousands at a time, each part with the number of its first row.

    Memory is given back after each part, so it does not grow with the table; an empty table is one empty part.
    """
    # Of a table in a file, the exact size would be read out of every part of it.
    num_bytes = rows.table.nbytes if rows.held is None else rows.table.get_total_buffer_size()
    size = max(1, min(_PART_ROWS, int(len(rows) * _PART_BYTES // max(1, num_bytes))))
    for start in range(0, max(1, len(rows)), size):
        yield start, Rows(rows.table.slice(start, size), rows.places.take(slice(start, start + size)))
        if rows.held is not None:
            rows.held.release()


def encode_parts(
    encoder: Encoder, rows: Rows, *, progress: Callable[[int], None] = lambda done: None
) -> Iterator[pa.Table]:
    """Encode all rows into tables of some megabytes; `progress` is told how many rows are done."""
    waiting: list[pa.Table] = []
    for start, part in in_parts(rows):
        features = encoder.encode(part.table)
        numbers = pc.add(features["row"], pa.scalar(start, pa.int64()))
        waiting.append(features.set_column(features.column_names.index("row"), "row", numbers))
        progress(start + len(part))
        if sum(table.nbytes for table in waiting) >= _CHUNK_BYTES:
            yield pa.concat_tables(waiting).combine_chunks()
            waiting = []
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def encode_aside(encoder: Encoder, table: pa.Table, held: MemoryMapped, *, code: Mapping[str, str]) -> Stored:
    """Encode a table that lies in a file into one of its own, or find it there."""
    key = {"data": held.digest, "columns": table.column_names, "rows": table.num_rows, "encoder": dict(encoder.key)}
    key["code"] = dict(code)
    rows = Rows(table, RowOrigins((), _NOWHERE, _NOWHERE, ()), held)
    return open_cache().store(key, lambda: encode_parts(encoder, rows))


def find_faults(encoder: Encoder, rows: Rows) -> list[RowFault]:
    """List the rows that cannot be used."""
    return [RowFault(start + fault.row, fault.what) for start, part in in_parts(rows) for fault in encoder.faults(part)]
