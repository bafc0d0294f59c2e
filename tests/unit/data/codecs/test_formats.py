"""The same rows come out of every format, and no bytes at all end in anything but rows or a refusal."""

import base64
import csv
import io
import json
import math
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.data.codecs.columns import FORMAT_NAMES, ColumnSpec, FormatName, Kind
from burnish.data.codecs.decoded import DecodedRows, Limits
from burnish.data.codecs.example import Feature, serialise_example
from burnish.data.codecs.formats import CODECS, decode, encode, looks_like
from burnish.data.codecs.tfrecord import write_records
from burnish.errors import DataError, MissingExtra

Row = dict[str, Any]
COLUMNS = (
    ColumnSpec("fare", "number", is_required=False),
    ColumnSpec("seats", "integer", default=-7),
    ColumnSpec("cash", "boolean", is_required=False),
    ColumnSpec("who", "text"),
    ColumnSpec('to, or "from"', "text", is_required=False),
)
NAMES = [spec.name for spec in COLUMNS]
TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
VALUES = (
    st.none() | st.floats(allow_nan=False, width=32),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.booleans(),
    TEXT,
    st.none() | TEXT.filter(bool),
)
ROWS = st.lists(st.tuples(*VALUES).map(lambda values: dict(zip(NAMES, values, strict=True))), min_size=1, max_size=6)


def as_json(rows: Sequence[Row]) -> bytes:
    return json.dumps(rows).encode()


def as_envelope(rows: Sequence[Row]) -> bytes:
    texts = [{**row, "who": {"b64": base64.b64encode(row["who"].encode()).decode()}} for row in rows]
    return json.dumps({"instances": texts, "signature_name": "serving_default"}, ensure_ascii=False).encode()


def as_lists(rows: Sequence[Row]) -> bytes:
    return json.dumps([[row[name] for name in NAMES] for row in rows]).encode()


def as_lines(rows: Sequence[Row]) -> bytes:
    # what is missing is left out, and blank lines mean nothing
    texts = [{name: value for name, value in row.items() if value is not None} for row in rows]
    return "\r\n\n".join(map(json.dumps, texts)).encode()


def as_csv(rows: Sequence[Row], *, names: Sequence[str] = tuple(reversed(NAMES)), has_header: bool = True) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
    writer.writerows([names] if has_header else [])
    writer.writerows([row[name] for name in names] for row in rows)
    return stream.getvalue().encode()


def as_csv_rows(rows: Sequence[Row]) -> bytes:
    return as_csv(rows, names=NAMES, has_header=False)


def messages(rows: Sequence[Row]) -> list[bytes]:
    kinds = {str: "bytes", int: "int64", bool: "int64", float: "float"}
    return [
        serialise_example(
            {
                name: Feature(kinds[type(value)], (value.encode() if isinstance(value, str) else value * 1,))
                for name, value in row.items()
                if value is not None
            }
        )
        for row in rows
    ]


def as_records(rows: Sequence[Row]) -> bytes:
    stream = io.BytesIO()
    write_records(stream, messages(rows))
    return stream.getvalue()


def as_base64(rows: Sequence[Row]) -> bytes:
    return b"\n".join(map(base64.urlsafe_b64encode, messages(rows)))


def as_b64_instances(rows: Sequence[Row]) -> bytes:
    return json.dumps({"instances": [{"b64": base64.b64encode(each).decode()} for each in messages(rows)]}).encode()


def with_defaults(rows: Sequence[Row]) -> list[Row]:
    return [{**row, "seats": -7 if row["seats"] is None else row["seats"]} for row in rows]


def shortest(rows: Sequence[Row]) -> list[Row]:
    import numpy as np

    return [{**row, "fare": row["fare"] and float(str(np.float32(row["fare"])))} for row in rows]


@pytest.mark.parametrize(
    ("format", "payload"),
    [
        ("json", b'[["r1", 2.5, "Blue"]]'),
        ("jsonl", b'["r1", 2.5, "Blue"]'),
        ("json_lists", b'[["r1", 2.5, "Blue"]]'),
        ("csv_rows", b"r1,2.5,Blue\n"),
        ("csv", b"company,fare,id\nBlue,2.5,r1\n"),
    ],
)
def test_a_column_that_is_not_read_keeps_its_place_in_rows_without_names(format: FormatName, payload: bytes) -> None:
    columns = [ColumnSpec("id", is_read=False), ColumnSpec("fare", "number"), ColumnSpec("company")]
    rows = decode(payload, columns, format=format)
    assert rows.table.to_pylist() == [{"fare": 2.5, "company": "Blue"}]
    assert (rows.errors, rows.unused) == ((), ())


@pytest.mark.parametrize(
    ("format", "payload"),
    [("json", b"[[1, 2]]"), ("jsonl", b"[1, 2]"), ("json_lists", b"[[1, 2]]"), ("csv_rows", b"1,2\n")],
)
def test_rows_without_names_are_refused_where_their_order_is_not_known(format: FormatName, payload: bytes) -> None:
    columns = [ColumnSpec("a", "number", is_placed=False), ColumnSpec("b", "number", is_placed=False)]
    with pytest.raises(DataError, match=r"the order of the columns was not recorded .* give each value by name"):
        decode(payload, columns, format=format)
    named = decode(b'[{"b": 2, "a": 1}]', columns, format="json")
    assert named.table.to_pylist() == [{"a": 1.0, "b": 2.0}]


@pytest.mark.parametrize("kind", ["flag", "time"])
@pytest.mark.parametrize("format", ["json", "csv_rows"])
def test_cells_that_are_no_flag_and_no_time_are_told_by_row_and_column(kind: Kind, format: FormatName) -> None:
    good = {"flag": "yes", "time": "2024-03-01 18:30"}[kind]
    payload = json.dumps([[good], ["soon"], [None]]).encode() if format == "json" else f"{good}\nsoon\n?\n".encode()
    rows = decode(payload, [ColumnSpec("when", kind, is_required=False)], format=format)
    wanted = {"flag": "'soon' is neither yes nor no", "time": "'soon' is not a date or time"}[kind]
    assert [(error.row, error.column) for error in rows.errors] == [(2, "when")]
    assert wanted in rows.errors[0].what
    assert rows.table["when"].to_pylist()[0] == good


@pytest.mark.parametrize(
    ("format", "write"),
    [
        ("json", as_json),
        ("json", as_envelope),
        ("json", as_lists),
        ("json_lists", as_lists),
        ("jsonl", as_lines),
        ("csv", as_csv),
        ("csv_rows", as_csv_rows),
    ],
)
def test_rows_come_out_as_they_went_in(format: FormatName, write: Callable[[Sequence[Row]], bytes]) -> None:
    @given(ROWS)
    @settings(max_examples=40)
    def check(rows: list[Row]) -> None:
        found = decode(write(rows), COLUMNS, format=format)
        assert (found.errors, found.unused) == ((), ())
        assert found.table.to_pylist() == with_defaults(rows)
        assert found.numbers.tolist() == list(range(1, len(rows) + 1))

    check()


@pytest.mark.parametrize(
    ("format", "write"), [("example", as_records), ("example", as_base64), ("json", as_b64_instances)]
)
def test_examples_give_the_shortest_numbers_that_their_32_bits_stand_for(
    format: FormatName, write: Callable[[Sequence[Row]], bytes]
) -> None:
    @given(ROWS)
    @settings(max_examples=40)
    def check(rows: list[Row]) -> None:
        found = decode(write(rows), COLUMNS, format=format)
        assert found.errors == ()
        assert found.table.to_pylist() == shortest(with_defaults(rows))

    check()


def test_six_digits_survive_an_example_and_equal_those_of_csv() -> None:
    rows = [{"fare": fare, "who": "x", "seats": 1, "cash": True, NAMES[4]: None} for fare in (12.3, 0.1, 99999.9, 1e-7)]
    tables = [
        decode(as_csv(rows), COLUMNS, format="csv").table,
        decode(as_records(rows), COLUMNS, format="example").table,
    ]
    assert tables[0].equals(tables[1])
    assert tables[0]["fare"].to_pylist() == [12.3, 0.1, 99999.9, 1e-7]


@given(ROWS.filter(lambda rows: len(rows) == 1))
@settings(max_examples=30)
def test_a_single_message_is_a_row(rows: list[Row]) -> None:
    found = decode(messages(rows)[0], COLUMNS, format="example")
    assert found.table.to_pylist() == shortest(with_defaults(rows))


@pytest.mark.parametrize("format", FORMAT_NAMES)
def test_no_bytes_do_harm(format: FormatName) -> None:
    @given(st.binary(max_size=120) | st.text('[]{}",:\\n01ea.-\n\r\x00é\ud800', max_size=80).map(lossy))
    @settings(max_examples=120)
    def check(payload: bytes) -> None:
        rows = judged(payload, format)
        if rows is not None:
            bad = {error.row for error in rows.errors}
            assert len(rows.table) + len(bad) == rows.num_rows
            assert sorted([*rows.numbers.tolist(), *bad]) == list(range(1, rows.num_rows + 1))
            answered = encode(rows, pa.table({"predicted": ["x"] * len(rows.table)}), format=format)
            assert answered.decode()

    check()


@pytest.mark.parametrize("write", [as_json, as_lines, as_csv, as_csv_rows, as_records, as_base64])
def test_damaged_payloads_do_no_harm_in_any_format(write: Callable[[Sequence[Row]], bytes]) -> None:
    @given(ROWS, st.data())
    @settings(max_examples=40)
    def check(rows: list[Row], data: Any) -> None:
        payload = bytearray(write(rows))
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
        for format in FORMAT_NAMES:
            judged(bytes(payload), format)

    check()


def test_rows_keep_their_numbers_after_bad_ones() -> None:
    rows = decode(b'who,fare\n"a\nb",1,2\nc,1\nd,x\ne,2\n', COLUMNS, format="csv")
    assert rows.numbers.tolist() == [2, 4]
    assert [(error.row, error.line, error.column) for error in rows.errors] == [(1, 2, None), (3, 5, "fare")]


def test_a_payload_that_is_too_large_is_refused_unread() -> None:
    with pytest.raises(DataError, match="the payload has 11 bytes, but only 10 are read at once; send it in parts"):
        decode(b" " * 11, COLUMNS, format="json", limits=Limits(payload_bytes=10))


def test_a_payload_in_which_nothing_fits_is_refused_shortly() -> None:
    with pytest.raises(
        DataError, match=r"more than 10,000 values of 20,000 rows cannot be used; the first are"
    ) as caught:
        decode(b"[" + b",".join([b"{}"] * 20_000) + b"]", COLUMNS, format="json")
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("payload", [b"[" * 200_000, b'{"a":' * 200_000, b'[{"who":' + b"[" * 200_000])
def test_deep_nesting_is_refused(payload: bytes) -> None:
    with pytest.raises(DataError, match="nested too deeply"):
        decode(payload, COLUMNS, format="json")
    assert "nested too deeply" in decode(b'{"who": "x"}\n' + payload, COLUMNS, format="jsonl").errors[0].what


def test_a_long_number_is_refused() -> None:
    with pytest.raises(DataError, match="at most 4,300 are read"):
        decode(b'[{"who": ' + b"1" * 5000 + b"}]", COLUMNS, format="json")


@pytest.mark.parametrize(
    ("payload", "format"),
    [
        (b'[{"a": 1}]', "json"),
        (b'{"a": 1}', "json"),
        (b'{"a":\n 1}', "json"),
        (b"[[1, 2]]", "json_lists"),
        (b'{"a": 1}\n{"a": 2}\n', "jsonl"),
        (b"a,b\n1,2\n", "csv"),
        (messages([{"a": 1.0}])[0], "example"),
        (as_records([{"a": 1.0}]), "example"),
        (as_base64([{"a": 1.0}]), "example"),
        (b"hello", None),
        (b"", None),
    ],
)
def test_what_a_payload_looks_like(payload: bytes, format: FormatName | None) -> None:
    assert looks_like(payload) == format


def test_every_name_has_its_codec() -> None:
    assert tuple(CODECS) == FORMAT_NAMES


def test_answers_stand_at_their_rows_and_errors_too() -> None:
    rows = decode(b'[{"who": "a"}, 5, {"who": "b", "fare": "much"}, {"who": "c"}]', COLUMNS, format="json")
    answers = pa.table({"predicted": ["x", "y"], "probabilities": [{"x": 0.5, "y": math.nan}] * 2})
    document = json.loads(encode(rows, answers, format="json"))["predictions"]
    assert [each.get("predicted") for each in document] == ["x", None, None, "y"]
    assert document[0]["probabilities"] == {"x": 0.5, "y": "nan"}
    assert document[2] == {"error": "row 3, fare: 'much' is not a number; expected a number like 12.5"}
    lines = encode(rows, answers, format="jsonl").decode().splitlines()
    assert [json.loads(line) for line in lines] == document
    table = list(csv.DictReader(io.StringIO(encode(rows, answers, format="csv").decode())))
    assert [row["predicted"] for row in table] == ["x", "", "", "y"]
    assert table[2]["error"] == document[2]["error"]
    assert encode(rows, answers, format="csv_rows").decode().splitlines()[0].startswith('"x",0.5,')


def lossy(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogatepass")


def judged(payload: bytes, format: FormatName) -> DecodedRows | None:
    try:
        return decode(payload, COLUMNS, format=format)
    except DataError:
        return None


@pytest.mark.parametrize(
    ("format", "payload", "said"),
    [
        ("json", b"[{},{},{}]", "3 rows, but only 2 are read at once"),
        ("jsonl", b"{}\n{}\n{}\n", "3 lines"),
        ("csv", b"who\na\nb\n", "3 lines"),
        ("csv_rows", b"a\nb\nc\n", "3 lines"),
        ("example", b"CgA=\n" * 3, "3 lines"),
        ("example", as_records([{"a": 1.0}] * 3), "3 records"),
    ],
)
def test_too_many_rows_are_refused_before_anything_is_made_of_them(
    format: FormatName, payload: bytes, said: str
) -> None:
    with pytest.raises(DataError, match=said):
        decode(payload, COLUMNS, format=format, limits=Limits(rows=2))


@pytest.mark.parametrize(
    ("format", "payload"),
    [
        ("json", b"[" + b"[]," * 60_000 + b"[]]"),
        ("json", b"[" + b"{}," * 60_000 + b"{}]"),
        ("jsonl", b"{}\n" * 60_000),
        ("csv", b"who,x\n" + b"1,\n" * 60_000),
        ("csv", b"who,x\n" + b",,\n" * 60_000),
        ("example", b"CgA=\n" * 40_000),
        ("example", serialise_example({"seats": Feature("int64", (1,) * 200_000)})),
        ("example", b"\x0a\x00" * 100_000),
    ],
)
def test_hostile_payloads_take_memory_in_proportion(format: FormatName, payload: bytes) -> None:
    tracemalloc.start()
    try:
        judged(payload, format)
        assert tracemalloc.get_traced_memory()[1] < 250 * len(payload)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("row", ["{}", '{"fair": 3}'])
def test_a_row_that_gives_none_of_the_columns_is_refused_though_all_have_defaults(row: str) -> None:
    columns = [ColumnSpec("fare", "number", default=9.5), ColumnSpec("seats", "integer", is_required=False)]
    rows = decode(f'[{row}, {{"fare": null}}]'.encode(), columns, format="json")
    assert [str(each) for each in rows.errors] == ["row 1: none of the model's columns is given; they are fare, seats"]
    assert rows.table.num_rows == 1


def test_a_value_that_was_sent_by_nearly_the_right_name_is_pointed_out() -> None:
    rows = decode(b'{"instances": [{"txt": "good"}]}', [ColumnSpec("text")], format="json")
    assert "is missing and has no default; expected text. Was it sent as `txt`?" in str(rows.errors[0])


def test_a_typo_is_named_also_where_examples_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def miss(_start: bytes) -> bool:
        raise MissingExtra("the extra `tfrecord`")

    monkeypatch.setattr("burnish.data.codecs.formats.is_tfrecord", miss)
    with pytest.raises(DataError, match="the payload is not JSON"):
        decode(b'{"instances": [', [ColumnSpec("a")], format="json")
