"""Large text files as tables, part by part: what the readers of whole files would give, or a refusal to guess."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from burnish.data.cache.blocks import Odd, blank_end, blocks, count_in
from burnish.data.columns.decimals import with_points
from burnish.data.readers.open_file import UTF8_MARK, mapped
from burnish.data.readers.read_delimited import HeaderShape, csv_options, line_feeds, shape_of
from burnish.data.readers.read_json import objects_of
from burnish.data.readers.read_text import lines_of
from burnish.data.readers.scan import Dialect, has_strict_quotes
from burnish.data.rows import plain

BLOCKS = (1 << 18, 1 << 21)
"""Arrow reads up to 32 blocks ahead of whoever takes them, so they are small; the larger ones are for long rows."""
_PART_BYTES = 1 << 22


def delimited_parts(
    path: Path, dialect: Dialect, *, name: str, line: str, block: int = BLOCKS[0]
) -> Iterator[pa.Table]:
    """Give the rows of a CSV or TSV file, each with its line in a last column of that name.

    ArrowInvalid if a row is longer than a block, or is no row.
    """
    shape = shape_of(mapped(path), dialect, name=name)
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
        table = part if dialect.decimal == "." else with_points(part, name=name)
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
    """Give the objects of a JSON lines file; what fields hold is known when all were seen, so it is read twice."""
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
    found = objects_of(block, kinds=kinds)
    if found is None:
        raise Odd
    return found


def line_parts(path: Path, *, name: str, line: str) -> Iterator[pa.Table]:
    """Give the lines that are not blank, each with its number in a last column of that name."""
    done = 0
    for block in blocks(path, name=name):
        written = block.to_pybytes()
        texts, numbers, lost = lines_of(written)
        if lost:
            raise Odd
        table = pa.table({"text": pa.array(texts, type=pa.string())})
        yield table.append_column(line, pa.array(done + numbers))
        done += written.count(b"\n")
