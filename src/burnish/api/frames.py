"""Rows in memory: DataFrames, Arrow tables and data sets become files in the cache, and answers become their like."""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from burnish.data.cache.features import cache_root
from burnish.data.codecs.answers import flatten
from burnish.data.readers.read_columnar import refuse_twins
from burnish.data.rows import plain
from burnish.data.sources.load_hub import name_classes
from burnish.durable import sha256_of, sync_file, sync_folder
from burnish.errors import DataError

_ROWS_AT_ONCE = 1 << 16
_AS_TEXT = ("period", "interval")
"""Types of pandas that Arrow would store as bare numbers."""
_OF_COLUMN = re.compile(r"Conversion failed for column (.*) with type (\S+)")


def is_frame(value: object) -> bool:
    """Tell whether a value holds rows: a DataFrame, an Arrow table, a data set or anything else that Arrow can read."""
    return not is_series(value) and (hasattr(value, "__arrow_c_stream__") or _comes_from(value, "datasets"))


def is_series(value: object) -> bool:
    """Tell whether a value is one column of pandas or polars."""
    return type(value).__name__ == "Series" and (_comes_from(value, "pandas") or _comes_from(value, "polars"))


def with_files(value: Any) -> Any:
    """Put the path of a stored file in the place of every table inside of options."""
    if is_frame(value):
        return str(store(value))
    if isinstance(value, Mapping):
        return {key: with_files(each) for key, each in value.items()}
    return [with_files(each) for each in value] if isinstance(value, list | tuple) else value


def store(frame: Any) -> Path:
    """Write rows to an Arrow file in the cache that is named by its content, and give its path."""
    folder = cache_root() / "frames"
    temporary = folder / f".{os.getpid()}-{os.urandom(4).hex()}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        parts = _even_parts(_parts(frame))
        first = next(parts)  # rows there are, or none of this is reached
        with temporary.open("wb") as file, pa.ipc.new_file(file, first.schema) as writer:
            for part in chain([first], parts):
                writer.write_table(part)
        path = folder / f"{sha256_of(temporary)[:32]}.arrow"
        if not path.exists():  # another run may be reading it, and would notice that it was replaced
            sync_file(temporary)
            os.replace(temporary, path)
            sync_folder(folder)
    except OSError as error:
        raise DataError(f"{folder} cannot be written ({error.strerror or error}); set BURNISH_CACHE") from error
    finally:
        with suppress(OSError):
            temporary.unlink()
    return path.absolute()


def table_of_frame(frame: Any) -> pa.Table:
    """Give rows as one Arrow table of plain types."""
    return pa.concat_tables(_parts(frame))


def _even_parts(parts: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Cut the rows alike however they come, so that the same rows make the same file."""
    held: list[pa.Table] = []
    for part in parts:
        held.append(part)
        while sum(map(len, held)) >= _ROWS_AT_ONCE:
            joined = pa.concat_tables(held).combine_chunks()
            yield joined.slice(0, _ROWS_AT_ONCE)
            held = [joined.slice(_ROWS_AT_ONCE)]
    if held:
        yield pa.concat_tables(held).combine_chunks()


def _parts(frame: Any) -> Iterator[pa.Table]:
    name = f"the {type(frame).__name__}"
    try:
        if _comes_from(frame, "pandas"):
            frame = _from_pandas(frame, name=name)
        elif _comes_from(frame, "datasets"):
            if not hasattr(frame, "num_rows") or isinstance(frame, dict):
                raise DataError(f"{name} is not a table of rows; give one split of it, read in full")
            frame = name_classes(frame)
        batches = frame if isinstance(frame, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(frame)
        refuse_twins(batches.schema.names, name=name)
        if not batches.schema.names:
            raise DataError(f"{name} has no columns")
        num_rows = 0
        for batch in batches:
            num_rows += len(batch)
            yield plain(pa.Table.from_batches([batch]))
        if not num_rows:
            raise DataError(f"{name} holds no rows")
    except (pa.ArrowException, TypeError) as error:
        raise _unfit(error, name=name) from error


def _from_pandas(frame: Any, *, name: str) -> pa.Table:
    """Take the columns under names of text; the index is not data."""
    if frame.columns.nlevels > 1:
        raise DataError(f"{name} has columns of {frame.columns.nlevels} levels; join their names to one each first")
    named = frame.set_axis([str(column) for column in frame.columns], axis="columns")
    refuse_twins([*named.columns], name=name)
    odd = [column for column, kind in named.dtypes.items() if str(kind).startswith(_AS_TEXT)]
    return pa.Table.from_pandas(named.astype(dict.fromkeys(odd, str)), preserve_index=False)


def _unfit(error: Exception, *, name: str) -> DataError:
    where = _OF_COLUMN.search(str(error))
    if where is None:
        return DataError(f"{name} cannot be read as a table: {error}")
    column = where[1]
    return DataError(
        f"column {column} of {name} holds values that do not go together ({error.args[0]}); "
        f"convert it first, like df[{column!r}] = df[{column!r}].astype(str)"
    )


def like(given: Any, answers: pa.Table) -> Any:
    """Give answers as what the rows were: a DataFrame of pandas with its index, one of polars, or an Arrow table."""
    if _comes_from(given, "pandas"):
        return flatten(answers).to_pandas().set_axis(given.index, axis="index")
    if _comes_from(given, "polars"):
        return sys.modules["polars"].from_arrow(flatten(answers))
    return answers


def _comes_from(value: object, package: str) -> bool:
    return type(value).__module__.partition(".")[0] == package
