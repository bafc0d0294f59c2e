"""Encodes and judges rows part by part, so that memory does not grow with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.cache.features import open_cache
from burnish.data.cache.mapped import Stored
from burnish.data.cache.spill import in_parts
from burnish.spec.protocols import Encoder
from burnish.spec.values import MemoryMapped, RowFault, RowOrigins, Rows

_NOWHERE = np.empty(0, dtype=np.int32)
_CHUNK_BYTES = 1 << 24
"""A batch is gathered from a few large chunks faster than from many small ones; while one is made, memory holds two."""


def encode_parts(
    encoder: Encoder, rows: Rows, *, progress: Callable[[int], None] = lambda done: None
) -> Iterator[pa.Table]:
    """Give the features of all rows in tables of some megabytes; `progress` is told how many rows are done."""
    waiting: list[pa.Table] = []
    for start, part in in_parts(rows):
        waiting.append(_numbered(encoder.encode(part.table), first_row=start))
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


def _numbered(features: pa.Table, *, first_row: int) -> pa.Table:
    at = features.column_names.index("row")
    return features.set_column(at, "row", pc.add(features["row"], pa.scalar(first_row, pa.int64())))


def faults_of(encoder: Encoder, rows: Rows) -> list[RowFault]:
    """List the rows that cannot be used."""
    return [RowFault(start + fault.row, fault.what) for start, part in in_parts(rows) for fault in encoder.faults(part)]
