"""Reads GLUE's published test files, which have no labels, under the columns that a model was trained on."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.glue import GlueSet
from burnish.data.readers.read_one import read_file
from burnish.data.sources.address import is_url
from burnish.data.sources.load_glue import LAYOUTS, GlueLayout, location_of
from burnish.errors import DataError
from burnish.spec.values import Rows

_INDICES = ("index", "id")


@dataclass(frozen=True)
class PublishedTest:
    """The rows of a test file, and the number by which GLUE knows each."""

    rows: Rows
    indices: pa.ChunkedArray


def read_tests(glue_set: GlueSet, source: str) -> dict[str, PublishedTest]:
    """Give the test files that a folder has, or one of them, by what their answers are called when handed in."""
    layout = LAYOUTS[glue_set]
    found = _found(source, layout)
    if not found:
        stems = " or ".join(f"{stem}.tsv" for stem in layout.tests.values())
        raise DataError(f"{source} has no {stems} (nor .gz, .zst), which GLUE's {glue_set} is tested on")
    return {name: _read(location, layout) for name, location in found.items()}


def _found(source: str, layout: GlueLayout) -> Mapping[str, str]:
    if not is_url(source) and os.path.isfile(os.path.expanduser(source)):
        stem = os.path.basename(source).partition(".tsv")[0]
        return {name: source for name, each in layout.tests.items() if each == stem}
    found = {name: location_of(source, stem) for name, stem in layout.tests.items()}
    return {name: location for name, location in found.items() if location is not None}


def _read(location: str, layout: GlueLayout) -> PublishedTest:
    names = {published: own for published, own in layout.columns.items() if own != "label"}
    rows = read_file(location, columns=tuple(names))
    indices = _indices(rows)
    table = rows.table.select(list(names)).rename_columns(list(names.values()))
    return PublishedTest(Rows(table, rows.places, rows.held), indices)


def _indices(rows: Rows) -> pa.ChunkedArray:
    column = next((name for name in _INDICES if name in rows.table.column_names), None)
    if column is None:
        return pa.chunked_array([pa.array(range(len(rows))).cast(pa.string())])
    values = rows.table.column(column)
    odd = pc.index(pc.match_substring_regex(values, r"\A[0-9]+\z"), False).as_py()
    if odd >= 0:
        raise DataError(
            f"{rows.places.describe(odd)}: the {column} is {values[odd].as_py()!r}, but a number is expected"
        )
    if pc.count_distinct(values).as_py() < len(values):
        raise DataError(f"{rows.places.files[0]}: the column `{column}` holds a number twice")
    return values
