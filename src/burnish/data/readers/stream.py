"""Reads large files part by part, so that memory does not grow with them; what cannot be read so is refused as odd."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from burnish.data.cache.features import cache_root
from burnish.data.cache.spill import LARGE_BYTES, spool
from burnish.data.columns.parse_columns import write_points
from burnish.data.readers.encoding import is_plain, write_utf8
from burnish.data.readers.open_file import UTF8_MARK, map_file, text_body, unpack
from burnish.data.readers.read_columnar import refuse_twins
from burnish.data.readers.read_delimited import HeaderShape, csv_options, find_shape, line_feeds
from burnish.data.readers.read_json import parse_objects
from burnish.data.readers.read_text import number_lines
from burnish.data.readers.scan import Dialect, has_strict_quotes
from burnish.data.rows import from_file, plain
from burnish.data.sources.address import DataFile
from burnish.spec.values import MemoryMapped, Rows

_PACKED = 8
"""Text packs to an eighth or so of its size."""
_ROWS_AT_ONCE = 1 << 16
_STREAMED = ("csv", "tsv", "jsonl", "text", "parquet", "arrow")
LINE = "burnish: line"
"""The last column of a spooled file of text: the line of each row, counted from 0."""
BLOCKS = (1 << 18, 1 << 21)
"""Arrow reads up to 32 blocks ahead of whoever takes them, so they are small; the larger ones are for long rows."""
_PART_BYTES = 1 << 22
_BLOCK = 1 << 24


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
    """Read a large file into a mapped table; None if anything about it calls for the exact way."""
    key = {
        "data": large.digest,
        "packed": large.file.compression,
        "format": large.kind,
        "dialect": asdict(large.dialect) if large.dialect else None,
        "encoding": large.encoding,
    }
    found = _spool(large, key)
    if found is None or found[0].num_rows == 0:
        return None  # what there is instead of rows is for the exact way to say
    table, held = found
    if LINE not in table.column_names:
        first_line = 1 if large.kind == "jsonl" else 0
        return from_file(table, name=large.file.name, first_line=first_line, held=held)
    numbers = table.column(LINE).to_numpy()
    return from_file(table.drop_columns([LINE]), name=large.file.name, first_line=1, numbers=numbers, held=held)


def _spool(large: Large, key: Mapping[str, object]) -> tuple[pa.Table, MemoryMapped] | None:
    """Write the rows into the cache, with larger blocks if a row is longer than the small ones."""
    for block in BLOCKS:
        try:
            return spool(key, partial(_parts, large, block=block))
        except Odd:
            return None
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error):
                return None
    return None


def _parts(large: Large, *, block: int) -> Iterator[pa.Table]:
    name = large.file.name
    is_unpacked = large.file.compression is None and _is_plain(large.path, large)
    with nullcontext(large.path) if is_unpacked else _unpacked_file(large) as path:
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


def delimited_parts(
    path: Path, dialect: Dialect, *, name: str, line: str, block: int = BLOCKS[0]
) -> Iterator[pa.Table]:
    """Read a CSV or TSV file part by part, each row with its line in a last column of that name.

    ArrowInvalid if a row is longer than a block, or is no row.
    """
    shape = find_shape(map_file(path), dialect, name=name)
    counted = count_in(path, [b"\n", b"\r", b"\r\n"])
    if shape.is_late or (not dialect.quoting and counted[b"\r"] != counted[b"\r\n"]):
        raise Odd
    if dialect.quoting and not _has_strict_quotes(path, dialect):
        raise Odd
    num_blank = blank_end(path)
    done = shape.header_lines
    is_empty = True
    for part in _csv_parts(path, dialect, shape, block=block):
        inside = line_feeds(part) if dialect.quoting else np.zeros(len(part), dtype=np.int64)
        ends = np.cumsum(1 + inside)
        table = part if dialect.decimal == "." else write_points(part, name=name)
        yield table.append_column(line, pa.array(done + ends - 1 - inside))
        done += int(ends[-1]) if len(ends) else 0
        is_empty = is_empty and not len(part)
    # blank lines or lone carriage returns: only a scan tells which line is which
    if is_empty or counted[b"\n"] - num_blank + 1 != done:
        raise Odd


def _has_strict_quotes(path: Path, dialect: Dialect) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        body = memoryview(mapped)[len(UTF8_MARK) * mapped.read(len(UTF8_MARK)).startswith(UTF8_MARK) :]
        with body:
            return has_strict_quotes(body, dialect.delimiter, release=lambda: mapped.madvise(mmap.MADV_DONTNEED))


def _csv_parts(path: Path, dialect: Dialect, shape: HeaderShape, *, block: int) -> Iterator[pa.Table]:
    with pa.OSFile(str(path)) as source, pa.csv.open_csv(source, **csv_options(dialect, shape, block)) as reader:
        while several := list(islice(reader, max(1, _PART_BYTES // block))):
            yield pa.Table.from_batches(several).combine_chunks()


def json_parts(path: Path, *, name: str) -> Iterator[pa.Table]:
    """Read a JSON lines file part by part; what fields hold is known when all were seen, so it is read twice."""
    kinds = pa.schema([])
    for block in blocks(path, name=name):
        try:
            kinds = pa.unify_schemas([kinds, _objects(block).schema], promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise Odd from error
    for block in blocks(path, name=name):
        part = _objects(block, kinds=kinds)
        if not part.schema.equals(kinds):
            raise Odd
        yield plain(part)


def _objects(block: pa.Buffer, *, kinds: pa.Schema | None = None) -> pa.Table:
    found = parse_objects(block, kinds=kinds)
    if found is None:
        raise Odd
    return found


def line_parts(path: Path, *, name: str, line: str) -> Iterator[pa.Table]:
    """Read the lines that are not blank, each with its number in a last column of that name."""
    done = 0
    for block in blocks(path, name=name):
        written = block.to_pybytes()
        texts, numbers, lost = number_lines(written)
        if lost:
            raise Odd
        table = pa.table({"text": pa.array(texts, type=pa.string())})
        yield table.append_column(line, pa.array(done + numbers))
        done += written.count(b"\n")


class Odd(Exception):
    """Says that something about a file calls for the exact way to read it, which needs the whole of it."""


def blocks(path: Path, *, name: str) -> Iterator[pa.Buffer]:
    """Cut a file's bytes into blocks that end with a line; a byte-order mark is left out, UTF-16 refused."""
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
