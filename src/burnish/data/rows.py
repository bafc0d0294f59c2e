"""Builds, joins and narrows rows, keeping the place each one was read from."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

from burnish.data.cache.spill import keep_chosen
from burnish.data.columns.evaluate import TableColumns, evaluate
from burnish.data.columns.expression import parse
from burnish.data.options import Filter, filter_columns
from burnish.errors import DataError
from burnish.nearest import nearest
from burnish.spec.values import MemoryMapped, RowOrigins, Rows

_Mask = np.ndarray[Any, np.dtype[np.bool_]]
_Numbers = np.ndarray[Any, Any]
_LONG_NAME = 40
_MANY = 4
"""From so many missing columns on, one sentence for all of them."""
_HASHED_AT_ONCE = 10_000
_DELIMITERS = {";": "a semicolon", "\t": "a tab", "|": "a bar", ",": "a comma"}


def from_file(
    table: pa.Table, *, name: str, first_line: int, numbers: _Numbers | None = None, held: MemoryMapped | None = None
) -> Rows:
    """Make rows of one file; without `numbers`, row i stands i lines after the first."""
    counted = np.arange(table.num_rows, dtype=np.int64) if numbers is None else numbers
    places = RowOrigins((name,), np.zeros(table.num_rows, dtype=np.int32), counted, (first_line,))
    return Rows(plain(table), places, held)


def join(parts: Sequence[Rows], *, has_lists: bool = False) -> Rows:
    """Put the rows of several files one after another; columns that one of them lacks are null there.

    With `has_lists`, a column that is one of lists in any file holds lists of at most one value in the others.
    """
    if len(parts) == 1:
        return parts[0]
    if has_lists:
        parts = [replace(part, table=_as_lists(part.table, parts)) for part in parts]
    starts = np.cumsum([0, *(len(part.places.files) for part in parts)])
    places = RowOrigins(
        files=tuple(name for part in parts for name in part.places.files),
        file_of=np.concatenate([part.places.file_of + start for part, start in zip(parts, starts, strict=False)]),
        numbers=np.concatenate([part.places.numbers for part in parts]),
        first_lines=tuple(line for part in parts for line in part.places.first_lines),
    )
    return Rows(_concatenate(parts), places, _hold_together(parts))


def keep(rows: Rows, mask: _Mask) -> Rows:
    """Keep the rows where the mask is true, in their order."""
    if mask.all():
        return rows
    table, held = (rows.table.filter(pa.array(mask)), None) if rows.held is None else keep_chosen(rows, mask)
    return Rows(table, rows.places.take(mask), held)


def keep_matching(rows: Rows, wanted: Filter, *, option: str = "data.filter") -> Rows:
    """Keep the rows whose columns hold one of the wanted values, or of which a condition is true."""
    demand(rows, filter_columns(wanted), why=option)
    if isinstance(wanted, str):
        return keep(rows, evaluate(parse(wanted), TableColumns(rows.table)) == 1.0)
    mask = np.ones(len(rows), dtype=bool)
    for column, values in wanted.items():
        mask &= _holds(rows.table.column(column), values, option=f"{option}.{column}")
    return keep(rows, mask)


def filter_rows(rows: Rows, wanted: Filter, *, where: str) -> Rows:
    """Keep the rows that `data.filter` asks for; refuse a set in which there is none."""
    if not wanted:
        return rows
    kept = keep_matching(rows, wanted)
    if len(kept):
        return kept
    if isinstance(wanted, str):
        raise DataError(f"data.filter: of none of the {len(rows):,} rows of {where} is {wanted} true")
    asked = " and ".join(f"{' or '.join(values)} in {column}" for column, values in wanted.items())
    raise DataError(f"data.filter: none of the {len(rows):,} rows of {where} holds {asked}")


def demand(rows: Rows, columns: Sequence[str], *, why: str, has_options: bool = True) -> None:
    """Refuse a table that lacks any of these columns, with the nearest name, all that are there, and what may help."""
    files = rows.places.files
    sentence = explain_missing(columns, rows.table.column_names, why=why, files=files, has_options=has_options)
    if sentence is not None:
        raise DataError(sentence)


def explain_missing(
    columns: Sequence[str], there: Sequence[str], *, why: str, files: Sequence[str], has_options: bool = True
) -> str | None:
    """Say which columns are not there; None if all are."""
    missing = [column for column in dict.fromkeys(columns) if column not in there]
    if not missing:
        return None
    named = ", ".join(files[:3]) + (" …" if len(files) > 3 else "")
    hints = _hints(there) if has_options else []
    if len(missing) >= _MANY:
        wanted = len(set(columns))
        share = "all" if len(missing) == wanted else f"{len(missing)} of the"
        begun = ", ".join(missing[: _MANY - 1])
        return "\n".join(
            [f"{named} lacks {share} {wanted} columns of {why} ({begun}, …); it has {_list_names(there)}", *hints]
        )
    return "\n".join([*(_missing(name, there, why=why) for name in missing), f"  in {named}", *hints])


def count_values(column: pa.ChunkedArray) -> tuple[_Numbers, int]:
    """Number the distinct values of a column in order of first appearance; null is a value too."""
    numbers, distinct = number_values(column)
    return numbers, len(distinct)


def number_values(column: pa.ChunkedArray) -> tuple[_Numbers, list[object]]:
    """Do as `codes`, and give the distinct values."""
    if pa.types.is_nested(column.type):
        column = pa.chunked_array([pa.array([str(value) for value in column.to_pylist()], type=pa.string())])
    if column.null_count == len(column):
        return np.zeros(len(column), dtype=np.int64), [None] * min(1, len(column))
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary.to_pylist()


def plain(table: pa.Table) -> pa.Table:
    """Undo what only storage cares about: dictionaries, views, text as bytes, nanoseconds, columns of nothing."""
    for index, field in enumerate(table.schema):
        kind = _plain_type(field.type)
        if kind != field.type:
            column = table.column(index)
            if pa.types.is_dictionary(field.type):  # first, because Arrow takes no views out of a dictionary
                column = column.cast(pa.dictionary(field.type.index_type, kind), safe=False)
            table = table.set_column(index, field.name, column.cast(kind, safe=False))
        if bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind)):
            table = table.set_column(index, field.name, _decode(table.column(index)))
    return table.replace_schema_metadata(None)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_null(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    # Python has no time finer than this, and without pandas such a value could not even be shown.
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    return {pa.duration("ns"): pa.duration("us"), pa.time64("ns"): pa.time64("us")}.get(kind, kind)


def _decode(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return column.cast(pa.string() if pa.types.is_binary(column.type) else pa.large_string())
    except pa.ArrowInvalid:
        return column  # bytes that are no text, such as a picture: a task that wants to read them says so


def _hints(there: Sequence[str]) -> list[str]:
    if len(there) == 1 and (found := next((each for each in _DELIMITERS if each in there[0]), None)):
        return [f"  if its fields are separated by {_DELIMITERS[found]}, set data.delimiter: {json.dumps(found)}"]
    if any(len(name) > _LONG_NAME or name.isnumeric() for name in there):
        return ["  if its first line is a row, not a header, set data.header: false and data.columns"]
    return []


def _missing(name: str, there: Sequence[str], *, why: str) -> str:
    close = nearest(name, there) or next((have for have in there if have.lower() == name.lower()), None)
    is_undivided = len(there) == 1 and any(each in there[0] for each in _DELIMITERS)
    hint = f". Did you mean `{close}`? The" if close and not is_undivided else "; the"
    parts = [part.strip() for part in name.split(",")]
    if len(parts) > 1 and set(parts) <= set(there):
        hint = f". Did you mean '[{', '.join(parts)}]'? The"
    return f"{why}: there is no column `{name}`{hint} columns are {_list_names(there)}"


def _list_names(names: Sequence[str]) -> str:
    shown = [name.replace("\t", "\\t") for name in names]
    return ", ".join(name if len(name) <= _LONG_NAME else name[:_LONG_NAME] + "…" for name in shown)


def _holds(column: pa.ChunkedArray, values: tuple[str, ...], *, option: str) -> _Mask:
    if pa.types.is_nested(column.type):
        raise DataError(f"{option}: the column holds {column.type}; only plain values can be used in a filter")
    try:
        wanted = pa.array(values, type=pa.string()).cast(column.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(
            f"{option}: the column holds {column.type}, and {', '.join(values)} is not of that type"
        ) from error
    found: _Mask = pc.is_in(column, value_set=wanted).to_numpy()
    return found.astype(bool)


def _hold_together(parts: Sequence[Rows]) -> MemoryMapped | None:
    held = [part.held for part in parts]
    if not any(held):
        return None
    total = hashlib.sha256()
    for part in parts:
        total.update((part.held.digest if part.held else fingerprint(part.table)).encode())

    def release() -> None:
        for each in held:
            if each is not None:
                each.release()

    return MemoryMapped(total.hexdigest(), release)


def fingerprint(table: pa.Table) -> str:
    """Hash the content of a table, some thousands of rows at a time."""
    total = hashlib.sha256()
    for start in range(0, table.num_rows, _HASHED_AT_ONCE):
        batch = table.slice(start, _HASHED_AT_ONCE).combine_chunks()
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_table(batch)
        total.update(sink.getvalue())
    return total.hexdigest()


def _concatenate(parts: Sequence[Rows]) -> pa.Table:
    tables = [part.table for part in parts]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        pass  # as text it may go
    try:
        return pa.concat_tables([_as_text(table, tables) for table in tables], promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DataError(_misfit(parts)) from error


def _misfit(parts: Sequence[Rows]) -> str:
    first = parts[0]
    for other in parts[1:]:
        for field in other.table.schema:
            older = first.table.schema.field(field.name) if field.name in first.table.column_names else field
            if older.type != field.type and pa.types.is_nested(field.type) != pa.types.is_nested(older.type):
                return (
                    f"the column `{field.name}` holds {older.type} in {first.places.files[0]} and {field.type} in "
                    f"{other.places.files[0]}; files that are read together need the same kind of values in a column"
                )
    return f"{first.places.files[0]} and the files after it hold different kinds of values in a column of the same name"


def _as_lists(table: pa.Table, parts: Sequence[Rows]) -> pa.Table:
    schemas = [part.table.schema for part in parts]
    for index, field in enumerate(table.schema):
        kinds = [schema.field(field.name).type for schema in schemas if field.name in schema.names]
        if any(map(pa.types.is_list, kinds)) and not pa.types.is_nested(field.type):
            values = table.column(index).combine_chunks()
            values = pa.concat_arrays(values.chunks) if isinstance(values, pa.ChunkedArray) else values
            ends = np.cumsum(values.is_valid().to_numpy(zero_copy_only=False))
            offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
            table = table.set_column(index, field.name, pa.ListArray.from_arrays(offsets, values.drop_null()))
    return table


def _as_text(table: pa.Table, tables: Sequence[pa.Table]) -> pa.Table:
    # a label that is a number in one file and a word in another is text in both
    for index, field in enumerate(table.schema):
        kinds = {other.schema.field(field.name).type for other in tables if field.name in other.column_names}
        if len(kinds) > 1 and not pa.types.is_nested(field.type):
            table = table.set_column(index, field.name, table.column(index).cast(pa.string()))
    return table
