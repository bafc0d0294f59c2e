"""Reads Parquet, Arrow and TFRecord files as rows, exactly as they hold them."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from burnish.data.codecs.example import Feature, WireError, parse_example
from burnish.data.codecs.tfrecord import Record, read_records
from burnish.data.inspection.faults import BadRow
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


def read_tfrecord(buffer: pa.Buffer, *, name: str) -> tuple[Rows, list[BadRow]]:
    """Read the examples of one file; a record that is damaged or no example is a bad row."""
    found: list[dict[str, Feature]] = []
    numbers: list[int] = []
    bad: list[BadRow] = []
    for number, record in enumerate(read_records(io.BytesIO(buffer), name=name)):
        try:
            found.append(_parse(record))
            numbers.append(number)
        except ValueError as error:
            bad.append(BadRow(f"{name} record {number + 1}", None, str(error), ""))
    names = dict.fromkeys(feature for example in found for feature in sorted(example))
    columns, faults = {}, dict[int, str]()
    for each in names:
        values, odd = _decoded([example.get(each) for example in found])
        columns[each] = _column(values, f"{name}: {each}")
        faults |= dict.fromkeys(odd, f"its {each} is no text in UTF-8")
    bad += [BadRow(f"{name} record {numbers[row] + 1}", None, why, "") for row, why in sorted(faults.items())]
    sound = [row for row in range(len(found)) if row not in faults]
    table = pa.table(columns).take(sound) if faults else pa.table(columns)
    places = np.array(numbers, dtype=np.int64)[sound][: table.num_rows]  # records without any feature are no rows
    return from_file(table, name=name, first_line=0, numbers=places), bad


def _parse(record: Record) -> dict[str, Feature]:
    if not record.is_whole:
        raise ValueError("its bytes are not those that were written: the checksum differs")
    try:
        return {name: _short(feature) for name, feature in parse_example(record.data).items()}
    except WireError as error:
        raise ValueError(f"it is not a tf.train.Example: {error}") from error


def _short(feature: Feature) -> Feature:
    if feature.kind != "float":
        return feature
    # 32 bits hold 12.300000190734863 where the writer had 12.3: the shortest number that these bits stand for
    return Feature("float", tuple(float(str(np.float32(value))) for value in feature.values))


def _decoded(features: list[Feature | None]) -> tuple[list[Feature | None], list[int]]:
    """Read bytes as text, and list the records where they are none; a feature that mostly is none stays bytes."""
    read, odd = list(features), []
    for row, feature in enumerate(features):
        if feature is not None and feature.kind == "bytes":
            try:
                texts = tuple(bytes(value).decode() for value in feature.values)  # type: ignore[arg-type]  # they are bytes
                read[row] = Feature("bytes", texts)  # type: ignore[arg-type]  # text from here on
            except UnicodeDecodeError:
                read[row] = None
                odd.append(row)
    return (features, []) if 2 * len(odd) > len(features) else (read, odd)


def _column(features: list[Feature | None], place: str) -> pa.Array:
    kinds = {each.kind for each in features if each is not None and each.kind is not None}
    if len(kinds) > 1:
        both = " and ".join(sorted(map(str, kinds)))
        raise DataError(f"{place} holds {both}; a feature must be of one kind in all records")
    given = [() if each is None else each.values for each in features]
    if any(len(values) > 1 for values in given):
        return pa.array([list(values) for values in given])
    values: list[Any] = [values[0] if values else None for values in given]
    return pa.array(values)
