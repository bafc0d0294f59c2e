"""Predictions as columns of a table, and tables as files."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from burnish.data.codecs.flat import flat
from burnish.spec.values import Outcome

if TYPE_CHECKING:
    from burnish.spec.values import Array

_ROWS_AT_ONCE = 10_000


def prediction_columns(outcome: Outcome) -> dict[str, pa.Array]:
    """Give `predicted`, and for classes `confidence` and `probabilities` (one number a class); or the task's own."""
    if outcome.answers is not None:
        return {name: outcome.answers[name].combine_chunks() for name in outcome.answers.column_names}
    predicted = words(outcome.decisions, outcome)
    if outcome.kind == "regression":
        return {"predicted": pa.array(predicted, pa.float64())}
    columns = {"predicted": pa.array(predicted, pa.string())}
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
        return [";".join(n for n, on in zip(outcome.labels, row, strict=True) if on) for row in values]
    names = pa.array(outcome.labels, pa.string())
    return list(names.take(pa.array(values, pa.int64())).to_pylist())


def write_table(table: pa.Table, path: Path, *, suffix: str) -> None:
    """Write a table in the format that a suffix names."""
    if suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    elif suffix == ".arrow":
        pyarrow.feather.write_feather(table, str(path), compression="uncompressed")
    elif suffix == ".jsonl":
        with path.open("w", encoding="utf-8") as stream:
            for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
                rows = batch.to_pylist()
                stream.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
    elif suffix == ".tsv":
        _write_tsv(flat(table), path)
    else:
        pyarrow.csv.write_csv(flat(table), path)


def _write_tsv(table: pa.Table, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write("\t".join(map(_tsv_cell, table.column_names)) + "\n")
        for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
            columns = [map(_tsv_cell, column.to_pylist()) for column in batch.columns]
            stream.writelines("\t".join(cells) + "\n" for cells in zip(*columns, strict=True))


def _tsv_cell(value: object) -> str:
    """Write a cell as it is, for in TSV a quote is plain text; only a tab or a line end needs the cell enclosed."""
    text = "" if value is None else str(value)
    if text.startswith('"') or any(mark in text for mark in "\t\r\n"):
        return '"' + text.replace('"', '""') + '"'
    return text
