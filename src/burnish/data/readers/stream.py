"""Reads large files part by part, so that memory does not grow with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet

from burnish.data.cache.blocks import Odd
from burnish.data.cache.features import cache_root
from burnish.data.cache.spill import LARGE_BYTES, spooled
from burnish.data.readers.encoding import is_plain, write_utf8
from burnish.data.readers.open_file import unpack
from burnish.data.readers.read_columnar import refuse_twins
from burnish.data.readers.scan import Dialect
from burnish.data.readers.stream_text import BLOCKS, delimited_parts, json_parts, line_parts
from burnish.data.rows import from_file, plain
from burnish.data.sources.address import DataFile
from burnish.spec.values import MemoryMapped, Rows

_PACKED = 8
"""Text packs to an eighth or so of its size."""
_ROWS_AT_ONCE = 1 << 16
_STREAMED = ("csv", "tsv", "jsonl", "text", "parquet", "arrow")
LINE = "burnish: line"
"""The last column of a spooled file of text: the line of each row, counted from 0."""


@dataclass(frozen=True)
class Large:
    """A large file and how to read it."""

    path: Path
    file: DataFile
    kind: str
    digest: str
    dialect: Dialect | None = None
    """How it is written, if it is delimited."""
    encoding: str = "utf-8"
    """What its text is written in, unless a byte-order mark says otherwise."""


def is_large(path: Path, file: DataFile, *, kind: str) -> bool:
    """Tell whether a file is better read part by part."""
    size = path.stat().st_size * (_PACKED if file.compression else 1)
    return kind in _STREAMED and size >= LARGE_BYTES


def stream(large: Large) -> Rows | None:
    """Give the rows of a large file as a mapped table; None if anything about it calls for the exact way."""
    key = {
        "data": large.digest,
        "packed": large.file.compression,
        "format": large.kind,
        "dialect": asdict(large.dialect) if large.dialect else None,
        "encoding": large.encoding,
    }
    found = _spooled(large, key)
    if found is None or found[0].num_rows == 0:
        return None  # what there is instead of rows is for the exact way to say
    table, held = found
    if LINE not in table.column_names:
        first_line = 1 if large.kind == "jsonl" else 0
        return from_file(table, name=large.file.name, first_line=first_line, held=held)
    numbers = table.column(LINE).to_numpy()
    return from_file(table.drop_columns([LINE]), name=large.file.name, first_line=1, numbers=numbers, held=held)


def _spooled(large: Large, key: Mapping[str, object]) -> tuple[pa.Table, MemoryMapped] | None:
    """Write the rows into the cache, with larger blocks if a row is longer than the small ones."""
    for block in BLOCKS:
        try:
            return spooled(key, partial(_parts, large, block=block))
        except Odd:
            return None
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error):
                return None
    return None


def _parts(large: Large, *, block: int) -> Iterator[pa.Table]:
    name = large.file.name
    with _plain_file(large) as path:
        if large.kind == "parquet":
            yield from _parquet_parts(path, name=name)
        elif large.kind == "arrow":
            yield from _arrow_parts(path)
        elif large.kind == "jsonl":
            yield from json_parts(path, name=name)
        elif large.kind == "text":
            yield from line_parts(path, name=name, line=LINE)
        else:
            assert large.dialect is not None, "a delimited file comes with its dialect"
            yield from delimited_parts(path, large.dialect, name=name, line=LINE, block=block)


def _plain_file(large: Large) -> AbstractContextManager[Path]:
    is_unpacked = large.file.compression is None and _is_plain(large.path, large)
    return nullcontext(large.path) if is_unpacked else _unpacked_file(large)


def _is_plain(path: Path, large: Large) -> bool:
    with path.open("rb") as file:
        return large.kind in ("parquet", "arrow") or is_plain(file.read(4), large.encoding)


@contextmanager
def _unpacked_file(large: Large) -> Iterator[Path]:
    cache_root().mkdir(parents=True, exist_ok=True)
    # Beside the cache, which has room for large files; the system's own place may lie in memory.
    with TemporaryDirectory(dir=cache_root(), prefix="unpacked-") as folder:
        path = large.path
        if large.file.compression is not None:
            path = Path(folder, "file")
            unpack(large.path, path, file=large.file)
        if not _is_plain(path, large):
            write_utf8(path, Path(folder, "utf8"), stated=large.encoding, name=large.file.name)
            path = Path(folder, "utf8")
        yield path


def _parquet_parts(path: Path, *, name: str) -> Iterator[pa.Table]:
    with pa.OSFile(str(path)) as source:
        file = pa.parquet.ParquetFile(source)
        refuse_twins(file.schema_arrow.names, name=name)
        for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
            yield plain(pa.Table.from_batches([batch]))


def _arrow_parts(path: Path) -> Iterator[pa.Table]:
    with pa.OSFile(str(path)) as source:
        file = pa.ipc.open_file(source)  # a stream of batches has no such head, and is read the other way
        for number in range(file.num_record_batches):
            yield plain(pa.Table.from_batches([file.get_batch(number)]))
