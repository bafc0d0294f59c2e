"""Predictions as columns of a table, and tables as files."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet

from burnish.data.codecs.answers import dump_json, flatten
from burnish.errors import DataError
from burnish.spec.values import Array, Outcome

_BREAK = r"[\t\r\n]"
_QUOTED = r'[",\r\n]|^\x{feff}'
"""What makes a cell need quotes; a byte-order mark would be lost at the start of a file."""
_QUOTED_ALONE = f"{_QUOTED}|^$"
_ROWS_AT_ONCE = 10_000


def prediction_columns(outcome: Outcome) -> dict[str, pa.Array]:
    """Give `predicted`, and for classes `confidence` and `probabilities` (one number a class); or the task's own.

    Classes with names have them in `predicted_name`; all else tells classes as the data does.
    """
    if outcome.answers is not None:
        return {name: outcome.answers[name].combine_chunks() for name in outcome.answers.column_names}
    predicted = words(outcome.decisions, outcome)
    if outcome.kind == "regression":
        return {"predicted": pa.array(predicted, pa.float64())}
    columns = {"predicted": pa.array(predicted, pa.string())}
    if outcome.names:
        columns["predicted_name"] = pa.array(words(outcome.decisions, show_names(outcome)), pa.string())
    if outcome.kind != "multilabel":
        chosen = outcome.decisions.astype(np.int64)[:, None]
        columns["confidence"] = pa.array(np.take_along_axis(outcome.outputs, chosen, axis=1)[:, 0])
    fields = [pa.array(outcome.outputs[:, number]) for number in range(len(outcome.labels))]
    columns["probabilities"] = pa.StructArray.from_arrays(fields, names=list(outcome.labels))
    return columns


def words(values: "Array", outcome: Outcome) -> list[Any]:
    """Give decisions or truths as people write them: class names, joined by ; for several, or numbers."""
    if outcome.kind == "regression":
        return [float(value) for value in values]
    if outcome.kind == "multilabel":
        return [";".join(names) for names in chosen_names(values, outcome)]
    names = pa.array(outcome.labels, pa.string())
    return list(names.take(pa.array(values, pa.int64())).to_pylist())


def show_names(outcome: Outcome) -> Outcome:
    """Call the labels what people should read."""
    return replace(outcome, labels=outcome.names or outcome.labels)


def chosen_names(values: "Array", outcome: Outcome) -> list[list[str]]:
    """Give the labels of each row of a 0/1 matrix."""
    return [[name for name, on in zip(outcome.labels, row, strict=True) if on] for row in values]


def write_table(table: pa.Table, path: Path, *, suffix: str) -> None:
    """Write a table in the format that a suffix names."""
    if suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    elif suffix == ".arrow":
        pyarrow.feather.write_feather(table, str(path), compression="uncompressed")
    elif suffix == ".jsonl":
        with path.open("w", encoding="utf-8") as stream:
            for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
                stream.writelines(dump_json(row, odd=lambda _: None) + "\n" for row in batch.to_pylist())
    elif suffix == ".tsv":
        _write_tsv(flatten(table), path)
    else:
        with path.open("wb") as out:
            write_csv(table, out)


def write_csv(table: pa.Table, stream: BinaryIO) -> None:
    """Write CSV with quotes where they are needed only, so that what is a number in a file read as text stays one."""
    table = flatten(table)
    is_alone = table.num_columns == 1  # its empty cells would be blank lines, which are no rows
    stream.write((",".join(_csv_cells(pa.array(table.column_names), is_alone=False).to_pylist()) + "\n").encode())
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        columns = [_csv_cells(_written(column), is_alone=is_alone) for column in batch.columns]
        lines = pc.binary_join_element_wise(*columns, ",")
        stream.writelines(f"{line}\n".encode() for line in lines.to_pylist())


def _written(column: pa.Array) -> pa.Array:
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # bytes that are no text, or a length of time
        return pa.array([None if value is None else str(value) for value in column.to_pylist()], pa.string())


def _csv_cells(texts: pa.Array, *, is_alone: bool) -> pa.Array:
    texts = pc.fill_null(texts, "")
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(texts, '"', '""'), '"', "")
    return pc.if_else(pc.match_substring_regex(texts, _QUOTED_ALONE if is_alone else _QUOTED), quoted, texts)


def refuse_breaks(table: pa.Table) -> None:
    """Refuse what a .tsv file cannot hold: quotes are plain text there, so nothing encloses a tab or a line end."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        rows = pc.indices_nonzero(pc.match_substring_regex(column, _BREAK)) if is_text else pa.array([])
        if len(rows) or re.search(_BREAK, name):
            where = f"row {rows[0].as_py() + 1}, column `{name}`," if len(rows) else f"the name of the column {name!r}"
            raise DataError(
                f"{where} holds a tab or a line end, which a .tsv file cannot hold; .csv, .jsonl and .parquet can"
            )


def _write_tsv(table: pa.Table, path: Path) -> None:
    refuse_breaks(table)
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write("\t".join(table.column_names) + "\n")
        for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
            columns = [["" if cell is None else str(cell) for cell in column.to_pylist()] for column in batch.columns]
            stream.writelines("\t".join(cells) + "\n" for cells in zip(*columns, strict=True))
