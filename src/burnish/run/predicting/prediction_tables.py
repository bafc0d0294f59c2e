"""Predictions beside the texts they were made of, some thousands of rows at a time."""

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.artifact.tables import chosen_names, prediction_columns, show_names, words
from burnish.data.cache.spill import in_parts
from burnish.spec.values import Outcome, Rows

_SHOWN_CHARACTERS = 2000


def prediction_tables(outcome: Outcome, rows: Rows, *, shown: Sequence[str]) -> Iterator[pa.Table]:
    """Put texts, truths and decisions side by side, in row order, some thousands at a time."""
    files = pa.array([PurePath(name).name for name in rows.places.files], pa.string())
    for start, part in in_parts(rows):
        said = outcome.part(slice(*np.searchsorted(outcome.rows, [start, start + len(part)])))
        texts = pc.utf8_slice_codeunits(_shown(part.table, shown), 0, _SHOWN_CHARACTERS)
        which = said.rows - start
        columns: dict[str, Any] = {
            "row": said.rows,
            # Where the row came from: rows of one number are others in a run that drew its splits by another seed.
            "file": pc.take(files, pa.array(part.places.file_of[which])),
            "file_row": part.places.numbers[which] + 1,
            "text": texts.take(pa.array(which)),
        }
        if said.truth is not None and said.answers is None:
            columns["truth"] = pa.array(words(said.truth, said))
        if said.weights is not None:
            columns["weight"] = said.weights
        columns |= prediction_columns(said)
        if said.kind == "multilabel":  # as lists, for a name may hold whatever would join them
            told = {"predicted": said.decisions, **({} if said.truth is None else {"truth": said.truth})}
            names = {name: chosen_names(values, said) for name, values in told.items()}
            if said.names:
                names["predicted_name"] = chosen_names(said.decisions, show_names(said))
            columns |= {name: pa.array(lists, pa.list_(pa.string())) for name, lists in names.items()}
        if said.outputs.ndim == 2 and said.answers is None:
            columns["probabilities"] = pa.array(list(said.outputs))
        yield pa.table(columns)


def _shown(table: pa.Table, columns: Sequence[str]) -> pa.ChunkedArray:
    """Give what tells a row to a reader: its text, or of a table its first few cells with their names."""
    large = pa.large_string()
    cells = [_as_text(table[name]) for name in columns]
    if len(cells) == 1:
        return cells[0]
    named = [
        pc.binary_join_element_wise(pa.scalar(name, large), pc.fill_null(cell, ""), pa.scalar("=", large))
        for name, cell in zip(columns, cells, strict=True)
    ]
    return pc.binary_join_element_wise(*named, pa.scalar(", ", large))


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_list(column.type) and not pa.types.is_nested(column.type.value_type):
        column = pc.binary_join(column.cast(pa.list_(pa.string())), " ")
    return column.cast(pa.large_string())
