"""A row is read alike whatever other rows come with it: in one body, in requests that are read together, in a list."""

import base64
import csv
import io
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from burnish.artifact.predictor import Predictor, table_of
from burnish.commands.train import train
from burnish.data.codecs.columns import ColumnSpec, describe_columns
from burnish.data.codecs.decoded import DecodedRows, Limits
from burnish.data.codecs.example import Feature, serialise_example
from burnish.data.codecs.formats import find_codec
from burnish.data.codecs.json_rows import Json
from burnish.data.codecs.tfrecord import write_records
from burnish.data.truncation import Head
from burnish.errors import DataError
from burnish.serve.jobs import Job
from burnish.serve.pipeline import read_jobs
from burnish.tasks.multiple_choice import MultipleChoice
from burnish.tasks.token_classification.rows import words_of
from tests.adversary.judge import IS_FULL

pytestmark = pytest.mark.timeout(3600 if IS_FULL else 300)
Row = Mapping[str, Any]

COLUMNS = (
    ColumnSpec("number", "number", is_required=False),
    ColumnSpec("integer", "integer", is_required=False),
    ColumnSpec("boolean", "boolean", is_required=False),
    ColumnSpec("flag", "flag", is_required=False),
    ColumnSpec("time", "time", is_required=False),
    ColumnSpec("category", is_required=False, is_category=True),
    ColumnSpec("text"),
    ColumnSpec("words", "words", is_required=False),
    ColumnSpec("texts", "texts", is_required=False),
)
AMOUNTS = ["12", "EUR 12", "12 EUR", "$1,234.50", "12 %", " 7 ", "1'000", "+5", "1e5", "5.", ".5"]
NO_AMOUNTS = ["-nan", "nan(1)", "inf"]
NOTHINGS = ["", "?", "NA", "None"]
FLAGS = ["yes", "no", "TRUE", "off", "1", "0", "1.0"]
DATES = ["2024-03-01", "1/3/2024", "31/12/2024", "20240301", "202403", "1709251200", "2024-03-01T10:00:00Z", "12345"]
TEXTS = ["word", "Peter  Blackburn, 1996", "x\ty", "é", "1.0", "007", "true", "a,b", 'say "so"', "\ud800"]
ANY_TEXT = [*AMOUNTS, *NO_AMOUNTS, *NOTHINGS, *FLAGS, *DATES, *TEXTS]
BARE = [12, 0, 1, -3, 1.5, 2.0, 1e20, 10**20, 10**400, 1e999, float("nan"), 20240301, True, False]
ODD = [None, {"b64": "MTI="}, {"b64": "!"}, {"x": 1}, [], ["a", "b"], ["a", 1], ["EUR 12"]]
EVERY = [*ANY_TEXT, *BARE, *ODD]
VALUES = st.sampled_from(EVERY)


def cases(few: int) -> Callable[[Any], Any]:
    return settings(
        max_examples=3000 if IS_FULL else few,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def rows_of(values: st.SearchStrategy[Any], names: Sequence[str]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows that differ in one column, so that the values of that column meet."""
    return st.sampled_from([*names]).flatmap(
        lambda name: st.lists(st.fixed_dictionaries({}, optional={name: values}), min_size=2, max_size=4)
    )


def filled(row: Row) -> dict[str, Any]:
    return {**{spec.name: None for spec in COLUMNS}, "text": "a text", **row}


def as_lists(rows: Sequence[Row]) -> bytes:
    return json.dumps([[row[spec.name] for spec in COLUMNS] for row in rows]).encode()


def as_csv(rows: Sequence[Row], *, has_header: bool) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
    writer.writerows([[spec.name for spec in COLUMNS]] * has_header)
    writer.writerows([[row[spec.name] for spec in COLUMNS] for row in rows])
    return stream.getvalue().encode()


def messages(rows: Sequence[Row]) -> list[bytes]:
    """Serialise rows, with a feature that is not read: a message without any has no bytes."""
    given = [{"unread": 1, **{name: value for name, value in row.items() if value is not None}} for row in rows]
    return [serialise_example({name: feature(value) for name, value in row.items()}) for row in given]


def feature(value: Any) -> Feature:
    if isinstance(value, str):
        return Feature("bytes", (value.encode(),))
    return Feature("float" if isinstance(value, float) else "int64", (value,))


def as_records(rows: Sequence[Row]) -> bytes:
    stream = io.BytesIO()
    write_records(stream, messages(rows))
    return stream.getvalue()


WRITERS: Mapping[str, tuple[str, Callable[[Sequence[Row]], bytes]]] = {
    "json": ("json", lambda rows: json.dumps(rows).encode()),
    "instances": ("json", lambda rows: json.dumps({"instances": rows}).encode()),
    "jsonl": ("jsonl", lambda rows: "\n".join(map(json.dumps, rows)).encode()),
    "json_lists": ("json_lists", as_lists),
    "csv": ("csv", lambda rows: as_csv(rows, has_header=True)),
    "csv_rows": ("csv_rows", lambda rows: as_csv(rows, has_header=False)),
    "records": ("example", as_records),
    "base64": ("example", lambda rows: b"\n".join(map(base64.b64encode, messages(rows)))),
}
_NO_FEATURE = (bool, dict, list)


def can_be_written(value: Any, form: str) -> bool:
    is_half = isinstance(value, str) and "\ud800" in value
    if form in ("records", "base64"):
        is_large = isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63
        return not (is_half or is_large or isinstance(value, _NO_FEATURE) or value == 1e20)
    return not (form.startswith("csv") and (is_half or isinstance(value, dict | list)))


def read_each(decoded: DecodedRows) -> list[tuple[Any, Any]]:
    """Give of each row its values, as the model would see them, and what is wrong with it."""
    found: list[tuple[Any, Any]] = [(None, [])] * decoded.num_rows
    for number, row in zip(decoded.numbers.tolist(), seen(decoded.table), strict=True):
        found[number - 1] = (row, [])
    for error in decoded.errors:
        found[error.row - 1] = (None, [*found[error.row - 1][1], (error.column, error.what)])
    return found


def seen(table: pa.Table) -> list[dict[str, Any]]:
    """Give rows with words and choices as the tasks find them, for a text is in other company a list of one."""
    rows = table.to_pylist()
    if "words" in table.column_names:
        for row, words in zip(rows, table["words"].to_pylist(), strict=True):
            row["words"] = None if words is None else found_words(table.schema.field("words").type, words)
            row["texts"] = [row["texts"]] if isinstance(row["texts"], str) else row["texts"]
    return rows


def found_words(kind: pa.DataType, words: Any) -> tuple[list[Any], list[int], list[str]]:
    texts = words_of(pa.array([words], kind), name="words")
    ends = len(texts.words.flat)
    shown = texts.between(np.arange(ends), np.arange(1, ends + 1))
    return texts.words.flat.to_pylist(), texts.starts.tolist(), shown


def check_body(form: str, rows: Sequence[Row]) -> None:
    format, write = WRITERS[form]
    sound = [{name: value for name, value in row.items() if can_be_written(value, form)} for row in rows]
    codec, whole = find_codec(format), [filled(row) for row in sound]
    alone = [read_each(codec.decode(write([row]), COLUMNS))[0] for row in whole]
    assert repr(read_each(codec.decode(write(whole), COLUMNS))) == repr(alone)


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("column", [spec.name for spec in COLUMNS])
def test_a_value_among_all_others_is_read_as_it_is_alone(form: str, column: str) -> None:
    check_body(form, [{column: value} for value in EVERY])


@pytest.mark.parametrize("form", WRITERS)
@given(rows=rows_of(VALUES, [spec.name for spec in COLUMNS]))
@cases(40)
def test_a_row_of_a_body_is_read_as_it_is_alone(form: str, rows: list[dict[str, Any]]) -> None:
    check_body(form, rows)


def check_requests(bodies: Sequence[Sequence[Row]]) -> None:
    def read(bodies: Sequence[Sequence[Row]]) -> list[str]:
        payloads = [json.dumps({"instances": body}).encode() for body in bodies]
        jobs = [Job(payload, Json(), b"application/json", 0.0, 1e9, None) for payload in payloads]
        read_jobs(jobs, COLUMNS, Limits())
        return [repr(job.reply.body if job.reply else read_each(job.rows)) for job in jobs]

    assert read(bodies) == [read([body])[0] for body in bodies]


@pytest.mark.parametrize("column", [spec.name for spec in COLUMNS])
def test_a_request_among_all_others_is_read_as_it_is_alone(column: str) -> None:
    check_requests([[{"text": "a", column: value}] for value in EVERY])


@given(rows=rows_of(VALUES, [spec.name for spec in COLUMNS]), size=st.integers(1, 3))
@cases(100)
def test_requests_that_are_read_together_are_read_as_each_alone(rows: list[dict[str, Any]], size: int) -> None:
    check_requests([rows[at : at + size] for at in range(0, len(rows), size)])


@pytest.fixture(scope="module")
def table_model(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    """A model over a column of every kind, each with a few gaps in training."""
    root = tmp_path_factory.mktemp("company")
    draw = Random(1)
    lines = ["number,category,flag,time,compact,code,place,y"]
    for at in range(120):
        amount, day = draw.random() * 100, date(2020, 1, 1) + timedelta(days=draw.randrange(900))
        cells = [f"{amount:.2f}", draw.choice("rgb"), draw.choice(["yes", "no"]), f"{day}", f"{day:%Y%m%d}"]
        cells += [f"u{draw.randrange(50)}", str(draw.randrange(8))]
        cells = ["" if at % 20 == number else cell for number, cell in enumerate(cells)]
        lines.append(",".join([*cells, "yes" if amount > 50 else "no"]))
    (root / "rows.csv").write_text("\n".join(lines) + "\n")
    columns = "{code: {kind: hash, buckets: 16}, place: {kind: identity, size: 8}, compact: datetime}"
    (root / "config.yaml").write_text(
        f"task: {{type: tabular, target: y, columns: {columns}, derived: {{twice: 'number * 2 + hour(time)'}}}}\n"
        f"data: {{train: {root / 'rows.csv'}, split: {{validation: 20, test: 20}}}}\n"
        "model: linear\n"
        "train: {length: 4 steps, batch: 20}\n"
        "runtime: {threads: 1, precision: fp32}\n"
    )
    predictor = Predictor.load(train(root / "config.yaml", directory=root / "run").directory / "artifact")
    sys.modules["torch"].set_flush_denormal(False)  # numbers too small for hypothesis to be without
    return predictor


NAMES = ["number", "category", "flag", "time", "compact", "code", "place"]
EVERY_CELL = [*ANY_TEXT[:-1], *BARE, None]
Features = list[dict[str, Any]] | None
"""Of each row; None where rows are refused."""


def encode(predictor: Predictor, read: Callable[[], pa.Table]) -> Features:
    try:
        rows = predictor.encoder.encode(read()).to_pylist()
    except DataError:
        return None
    return [{name: value for name, value in row.items() if name != "row"} for row in rows]


def encode_list(predictor: Predictor, rows: Sequence[Row]) -> Features:
    return encode(predictor, lambda: table_of(rows, predictor.task, profile=predictor.profile))


@pytest.mark.parametrize("column", NAMES)
def test_a_value_of_a_list_becomes_the_features_that_it_becomes_alone(table_model: Predictor, column: str) -> None:
    rows = [{"number": 1, column: value} for value in EVERY_CELL]
    alone = [(row, found[0]) for row in rows if (found := encode_list(table_model, [row]))]
    assert len(alone) > 3
    assert encode_list(table_model, [row for row, _ in alone]) == [features for _, features in alone]


@given(rows=rows_of(st.sampled_from(EVERY_CELL), NAMES))
@cases(100)
def test_a_list_is_refused_where_one_of_its_rows_is(table_model: Predictor, rows: list[dict[str, Any]]) -> None:
    rows = [{"number": 1, **row} for row in rows]
    alone = [encode_list(table_model, [row]) for row in rows]
    if None in alone:
        assert encode_list(table_model, rows) is None
    else:
        assert encode_list(table_model, rows) == [each[0] for each in alone if each]


@pytest.mark.parametrize("column", NAMES)
@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "records"])
def test_a_value_of_a_body_becomes_the_features_that_it_becomes_alone(
    table_model: Predictor, form: str, column: str
) -> None:
    columns = describe_columns(table_model.task, table_model.profile)
    format, write = WRITERS[form]
    if form == "csv":
        write = partial(csv_of, header=[spec.name for spec in columns])

    def encode_body(rows: Sequence[Row]) -> Features:
        return encode(table_model, lambda: find_codec(format).decode(write(rows), columns).table)

    rows = [{"number": 1, column: value} for value in EVERY_CELL if can_be_written(value, form)]
    alone = [features for row in rows for features in encode_body([row]) or []]
    assert len(alone) > 3
    assert encode_body(rows) == alone


def csv_of(rows: Sequence[Row], *, header: Sequence[str]) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
    writer.writerow(header)
    writer.writerows([[row.get(name) for name in header] for row in rows])
    return stream.getvalue().encode()


def test_a_list_of_choices_may_hold_a_single_text_in_any_company() -> None:
    task = MultipleChoice(context="story", choices=["ends"], label="right", truncation=Head())
    alone, company = {"story": "so", "ends": ["a", "b"]}, {"story": ["it", "was"], "ends": ["c", "d"]}
    tables = [task.table(rows, None) for rows in ([alone], [alone, company])]  # type: ignore[arg-type]  # not looked at
    assert [table["story"][0].as_py() for table in tables] == ["so", ["so"]]


@pytest.mark.parametrize("value", [12.0, 12, 1e20, 1e-7, 10**30, True, "12.0"])
@pytest.mark.parametrize("other", [1.5, 2**60 + 1, "a text", None, False])
def test_a_number_that_stands_for_a_text_is_written_as_it_is_alone(value: object, other: object) -> None:
    task: Any = SimpleNamespace(table=lambda *_: None, training_columns=("text",), input_columns=("text",))
    alone, beside = (
        table_of([{"text": each} for each in rows], task, profile=None)["text"].cast(pa.string())[0].as_py()  # type: ignore[arg-type]  # not looked at
        for rows in ([value], [value, other])
    )
    assert beside == alone
