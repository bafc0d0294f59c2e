"""Goes from GLUE's published files, or its hub copy, to splits, and reads its test files, which have no labels."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.files import Files
from burnish.data.hub import Glue, GlueSet, Hub
from burnish.data.readers.read import read_file
from burnish.data.rows import demand
from burnish.data.sources.address import find, is_url
from burnish.data.splits.arrange import PlainRequest
from burnish.errors import DataError
from burnish.spec.protocols import DataRequest
from burnish.spec.values import Rows, Splits

_HUB_NAME = "nyu-mll/glue"
_INDICES = ("index", "id")


@dataclass(frozen=True)
class GlueLayout:
    """How a set is published: column as published → column here, and the hub's class names → published labels."""

    columns: Mapping[str, str]
    labels: Mapping[str, str]
    header: tuple[str, ...] = ()
    """Names for files that come without a header."""
    dev: str = "dev"
    hub_dev: str = "validation"
    also: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Further sets by name: the file's stem and the hub's split."""
    tests: Mapping[str, str] = field(kw_only=True)
    """Files without labels by what their answers are called when they are handed in: the file's stem."""


_PAIR = {"sentence1": "sentence1", "sentence2": "sentence2", "label": "label"}
LAYOUTS: Mapping[str, GlueLayout] = {
    "sst2": GlueLayout(
        {"sentence": "sentence", "label": "label"}, {"negative": "0", "positive": "1"}, tests={"SST-2": "test"}
    ),
    "cola": GlueLayout(
        {"sentence": "sentence", "label": "label"},
        {"unacceptable": "0", "acceptable": "1"},
        header=("source", "label", "mark", "sentence"),
        tests={"CoLA": "test"},
    ),
    "mrpc": GlueLayout(
        {"#1 String": "sentence1", "#2 String": "sentence2", "Quality": "label"},
        {"not_equivalent": "0", "equivalent": "1"},
        tests={"MRPC": "test"},
    ),
    "rte": GlueLayout(_PAIR, {}, tests={"RTE": "test"}),
    "wnli": GlueLayout(_PAIR, {"not_entailment": "0", "entailment": "1"}, tests={"WNLI": "test"}),
    "stsb": GlueLayout(
        {"sentence1": "sentence1", "sentence2": "sentence2", "score": "label"}, {}, tests={"STS-B": "test"}
    ),
    "qnli": GlueLayout({"question": "question", "sentence": "sentence", "label": "label"}, {}, tests={"QNLI": "test"}),
    "mnli": GlueLayout(
        {"sentence1": "premise", "sentence2": "hypothesis", "gold_label": "label"},
        {},
        dev="dev_matched",
        hub_dev="validation_matched",
        also={"validation_mismatched": ("dev_mismatched", "validation_mismatched")},
        tests={"MNLI-m": "test_matched", "MNLI-mm": "test_mismatched", "AX": "diagnostic"},
    ),
    "qqp": GlueLayout(
        {"question1": "question1", "question2": "question2", "is_duplicate": "label"},
        {"not_duplicate": "0", "duplicate": "1"},
        tests={"QQP": "test"},
    ),
}


def load_glue(options: Glue, request: DataRequest) -> Splits:
    """Read train and dev, and give them the hub's column names and the published labels."""
    layout = LAYOUTS[options.set]
    splits = _from_files(options, layout, request) if options.dir is not None else _from_hub(options, layout, request)
    for rows in (splits.train, splits.validation, *splits.others.values()):
        demand(rows, request.columns, why="task")
    return splits


def _from_files(options: Glue, layout: GlueLayout, request: DataRequest) -> Splits:
    published = PlainRequest(request.seed, None, tuple(layout.columns), request.quarantine)
    return _map_splits(published_files(options).load(published), lambda rows: _rename(rows, layout))


def published_files(options: Glue) -> Files:
    """Name the files of a set in a folder, as they are published."""
    assert options.dir is not None  # the caller asked
    layout = LAYOUTS[options.set]
    further = {name: locate_file(options.dir, stem) for name, (stem, _) in layout.also.items()}
    return Files(
        train=(_file(options.dir, "train", glue_set=options.set),),
        validation=(_file(options.dir, layout.dev, glue_set=options.set),),
        also={name: (location,) for name, location in further.items() if location is not None},
        format="tsv",
        header=not layout.header,
        columns=layout.header,
        limit=options.limit,
        bad_rows=options.bad_rows,
        max_bad_share=options.max_bad_share,
    )


def locate_file(directory: str, stem: str) -> str | None:
    """Find a published file in a folder, plain or packed."""
    for ending in ("", ".gz", ".zst"):
        try:
            return find(f"{stem}.tsv{ending}", base=directory, option="data.dir")[0].location
        except DataError:
            continue
    return None


def _file(directory: str, stem: str, *, glue_set: str) -> str:
    location = locate_file(directory, stem)
    if location is not None:
        return location
    where = "" if is_url(directory) or Path(os.path.expanduser(directory)).is_dir() else ", and there is no such folder"
    raise DataError(
        f"data.dir: {directory} has no {stem}.tsv (nor .gz, .zst){where}; "
        f"GLUE's {glue_set} is published as train.tsv and {LAYOUTS[glue_set].dev}.tsv, and both are needed"
    )


def _rename(rows: Rows, layout: GlueLayout) -> Rows:
    table = rows.table.select(list(layout.columns)).rename_columns(list(layout.columns.values()))
    return replace(rows, table=table)


def _from_hub(options: Glue, layout: GlueLayout, request: DataRequest) -> Splits:
    also = {name: split for name, (_, split) in layout.also.items()}
    source = Hub(name=_HUB_NAME, config=options.set, validation=layout.hub_dev, also=also, limit=options.limit)
    columns = tuple(layout.columns.values())
    asked = PlainRequest(request.seed, "label", columns, request.quarantine)
    return _map_splits(source.load(asked), lambda rows: _relabel(rows, layout, columns))


def _relabel(rows: Rows, layout: GlueLayout, columns: tuple[str, ...]) -> Rows:
    table = rows.table.select(list(columns))
    if layout.labels:
        at = pc.index_in(table.column("label"), value_set=pa.array(list(layout.labels), type=pa.string()))
        published = pa.array(list(layout.labels.values()), type=pa.string()).take(at)
        table = table.set_column(columns.index("label"), "label", published)
    return Rows(table, rows.places)


def _map_splits(splits: Splits, change: Callable[[Rows], Rows]) -> Splits:
    # test has no published labels, so nothing could be scored on it
    others = {name: change(rows) for name, rows in splits.others.items()}
    return replace(splits, train=change(splits.train), validation=change(splits.validation), test=None, others=others)


@dataclass(frozen=True)
class PublishedTest:
    """The rows of a test file, and the number by which GLUE knows each."""

    rows: Rows
    indices: pa.ChunkedArray


def read_tests(glue_set: GlueSet, source: str) -> dict[str, PublishedTest]:
    """Read the test files that a folder has, or one of them, by what their answers are called when handed in."""
    layout = LAYOUTS[glue_set]
    found = _find_tests(source, layout)
    if not found:
        stems = " or ".join(f"{stem}.tsv" for stem in layout.tests.values())
        raise DataError(f"{source} has no {stems} (nor .gz, .zst), which GLUE's {glue_set} is tested on")
    return {name: _read(location, layout) for name, location in found.items()}


def _find_tests(source: str, layout: GlueLayout) -> Mapping[str, str]:
    if not is_url(source) and os.path.isfile(os.path.expanduser(source)):
        stem = os.path.basename(source).partition(".tsv")[0]
        return {name: source for name, each in layout.tests.items() if each == stem}
    found = {name: locate_file(source, stem) for name, stem in layout.tests.items()}
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
