"""Reads Parquet and Arrow files, which bring their own types."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from burnish.data.rows import from_file
from burnish.errors import DataError
from burnish.spec.values import Rows

_ARROW_FILE = b"ARROW1"
_SHOWN = 60


def read_parquet(buffer: pa.Buffer, *, name: str) -> Rows:
    """Read a Parquet file as rows."""
    try:
        # first, for the reader would say no more than that it found several
        refuse_twins(pa.parquet.read_schema(pa.BufferReader(buffer)).names, name=name)
        return _rows(parquet_table(buffer), name=name)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{name} is not a complete Parquet file: {error}") from error


def read_arrow(buffer: pa.Buffer, *, name: str) -> Rows:
    """Read an Arrow file or stream as rows."""
    try:
        return _rows(arrow_table(buffer), name=name)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{name} is not a complete Arrow file: {error}") from error


def parquet_table(buffer: pa.Buffer) -> pa.Table:
    """Read a Parquet file with all its types and metadata."""
    return pa.parquet.read_table(pa.BufferReader(buffer))


def arrow_table(buffer: pa.Buffer) -> pa.Table:
    """Read an Arrow file or stream with all its types and metadata."""
    is_file = buffer.size >= len(_ARROW_FILE) and buffer[: len(_ARROW_FILE)].to_pybytes() == _ARROW_FILE
    opener = pa.ipc.open_file if is_file else pa.ipc.open_stream
    return opener(pa.BufferReader(buffer)).read_all()


def _rows(table: pa.Table, *, name: str) -> Rows:
    refuse_twins(table.column_names, name=name)
    table.validate(full=True)  # text that is not UTF-8 would be noticed only where it is used
    if table.num_rows == 0:
        raise DataError(f"{name} holds no rows")
    return from_file(table, name=name, first_line=0)


def refuse_twins(columns: Sequence[str], *, name: str) -> None:
    """Refuse a file with two columns of one name."""
    twins = [column for column in dict.fromkeys(columns) if columns.count(column) > 1]
    if twins:
        raise DataError(f"{name} names the column {twins[0][:_SHOWN]} more than once; give each column its own name")
