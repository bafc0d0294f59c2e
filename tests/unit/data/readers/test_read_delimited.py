"""CSV and TSV come out as written, and every broken row is named by its line."""

import csv
import io

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.data.inspection.faults import BadRow
from burnish.data.readers import read_delimited as module
from burnish.data.readers.read_delimited import read_delimited
from burnish.data.readers.scan import Dialect
from burnish.errors import DataError
from burnish.spec.values import Rows

CSV = Dialect()
TSV = Dialect("\t", quoting=False)


def read(data: bytes, dialect: Dialect = CSV) -> tuple[Rows, list[BadRow]]:
    return read_delimited(pa.py_buffer(data), name="a.csv", dialect=dialect)


def values(data: bytes, dialect: Dialect = CSV) -> dict[str, list[str]]:
    rows, bad = read(data, dialect)
    assert bad == []
    return rows.table.to_pydict()


def lines(rows: Rows) -> list[str]:
    return [rows.places.describe(row) for row in range(len(rows))]


def test_every_column_is_text() -> None:
    assert values(b"id,label\n007,1.0\n,NULL\n") == {"id": ["007", ""], "label": ["1.0", "NULL"]}


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfa,b\n1,2\n", b"a,b\r\n1,2\r\n", b"a,b\n1,2", b"\n\na,b\n\n1,2\n\n\n"])
def test_marks_and_line_ends_do_not_show(data: bytes) -> None:
    assert values(data) == {"a": ["1"], "b": ["2"]}


def test_lines_are_right_after_quoted_line_ends() -> None:
    rows, _ = read(b'a,b\n1,"x\ny\nz"\n2,"p\r\nq"\n3,r\n')
    assert lines(rows) == ["a.csv:2", "a.csv:5", "a.csv:7"]
    assert rows.table["b"].to_pylist() == ["x\ny\nz", "p\r\nq", "r"]


def test_lines_are_right_after_blank_ones_and_a_header_of_two_lines() -> None:
    rows, _ = read(b'a,"b\nc"\n\n1,2\n\n3,4\n')
    assert lines(rows) == ["a.csv:4", "a.csv:6"]


def test_quotes_are_plain_text_in_tsv() -> None:
    assert values(b'a\tb\n"x\t5" nail\n', TSV) == {"a": ['"x'], "b": ['5" nail']}


def test_a_lone_carriage_return_is_text_in_tsv() -> None:
    assert values(b"a\tb\n1\tx\ry\n2\tz\n", TSV)["b"] == ["x\ry", "z"]


def test_a_lone_carriage_return_is_text_for_the_exact_way_too() -> None:
    rows, bad = read(b"a,b\n1,x\ry\n2\n")
    assert rows.table.to_pydict() == {"a": ["1"], "b": ["x\ry"]}
    assert [row.line for row in bad] == [3]


def test_every_broken_row_is_named_with_its_line() -> None:
    _, bad = read(b'a,b\n1,"x\ny"\n1,2,3\n\n\xff,1\nok,1\n4\n"open,1\nfine,2\n')
    assert [(row.line, row.why) for row in bad] == [
        (4, "has 3 fields, but 2 are expected here"),
        (6, "byte 0xff is not UTF-8; save the file as UTF-8"),
        (8, "has 1 field, but 2 are expected here"),
        (9, "a quote opens here and never closes"),
    ]


def test_what_is_left_beside_broken_rows_keeps_its_lines() -> None:
    rows, bad = read(b'a,b\n1,2\nx\n"open,1\nfine,2\n')
    assert len(bad) == 2
    assert lines(rows) == ["a.csv:2", "a.csv:5"]


def test_a_quote_that_swallows_the_rest_is_noticed_even_when_fields_fit() -> None:
    rows, bad = read(b'a,b\n1,"x\n2,y\n3,z\n')
    assert [row.line for row in bad] == [2]
    assert rows.table["a"].to_pylist() == ["2", "3"]


def test_a_row_longer_than_a_block_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FIRST_BLOCK", 64)
    assert values(b"a,b\n1," + b"x" * 5000 + b"\n2,y\n")["a"] == ["1", "2"]


def test_a_first_row_longer_than_what_is_peeked_at_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_HEAD", 8)
    assert values(b'"long name one",b\n1,2\n') == {"long name one": ["1"], "b": ["2"]}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a.csv is empty"),
        (b"\n\n", "a.csv is empty"),
        (b"a,b\n", "a.csv has a header and no rows"),
        (b"a,b,a\n1,2,3\n", "a.csv:1: the header names `a` more than once"),
        (b"\xff\xfea\x00,\x00", "a.csv is UTF-16 text; save it as UTF-8"),
        (b'"a,b\n', "a.csv:1: a quote opens here and never closes"),
    ],
)
def test_a_file_that_holds_no_table_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(DataError) as caught:
        read(data)
    assert str(caught.value).startswith(message)


def test_columns_name_a_file_without_header() -> None:
    assert values(b"1,x\n2,y\n", Dialect(columns=("n", "t"))) == {"n": ["1", "2"], "t": ["x", "y"]}


def test_a_header_that_repeats_the_columns_is_no_row() -> None:
    assert values(b"n,t\n2,y\n", Dialect(columns=("n", "t"))) == {"n": ["2"], "t": ["y"]}


def test_columns_can_rename_a_header() -> None:
    assert values(b"a,a\n2,y\n", Dialect(columns=("n", "t"), header=True)) == {"n": ["2"], "t": ["y"]}


def test_without_header_and_names_columns_are_numbered() -> None:
    assert values(b"1,x\n", Dialect(header=False)) == {"column1": ["1"], "column2": ["x"]}


def test_the_wrong_number_of_names_is_refused() -> None:
    with pytest.raises(DataError, match="first row has 2 fields, but 3 columns are named: a, b, c"):
        read(b"1,x\n", Dialect(columns=("a", "b", "c")))


def test_a_ragged_dialect_drops_further_fields() -> None:
    ragged = Dialect("\t", quoting=False, header=False, columns=("a", "b"), is_ragged=True)
    rows, bad = read(b"1\tx\n2\ty\tmore\n3\n", ragged)
    assert rows.table.to_pydict() == {"a": ["1", "2"], "b": ["x", "y"]}
    assert [row.line for row in bad] == [3]


CELL = st.text(st.sampled_from('ab ,";\n\té€'), max_size=6)


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=8))
def test_whatever_a_csv_writer_writes_is_read_back_with_its_lines(written: list[tuple[str, str]]) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["x", "y"])
    starts = []
    for row in written:
        starts.append(stream.getvalue().count("\n") + 1)
        writer.writerow(row)
    rows, bad = read(stream.getvalue().encode())
    assert bad == []
    assert list(zip(rows.table["x"].to_pylist(), rows.table["y"].to_pylist(), strict=True)) == written
    assert lines(rows) == [f"a.csv:{line}" for line in starts]


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=8))
def test_the_exact_way_gives_what_the_fast_one_does(written: list[tuple[str, str]]) -> None:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\r\n", quoting=csv.QUOTE_ALL).writerows([("x", "y"), *written])
    data = stream.getvalue().encode()
    fast, _ = read(data)
    exact, bad = read(data + b"one\n")
    assert len(bad) == 1
    assert exact.table.equals(fast.table)
    assert lines(exact) == lines(fast)


LOST_QUOTE = b'id,t\n1,a\n2,b\n3,"open\n4,z\n5,q\n6,x"y\n7,e\n'


def test_a_lost_quote_swallows_no_rows() -> None:
    rows, bad = read(LOST_QUOTE)
    assert [row.line for row in bad] == [4]
    assert bad[0].why.startswith("text follows a closing quote on line 7: `y`; write a quote inside a quoted field")
    assert rows.table["id"].to_pylist() == ["1", "2", "4", "5", "6", "7"]


ANY_TEXT = st.text(st.sampled_from('ab,"\n'), max_size=30)


@settings(max_examples=300)
@given(ANY_TEXT)
def test_what_python_in_strict_mode_refuses_is_refused_and_all_else_is_read_as_python_does(text: str) -> None:
    data = f"x,y\n{text}\nend,row\n"
    try:
        oracle = [row for row in csv.reader(io.StringIO(data), strict=True) if row]
    except csv.Error:
        oracle = None
    rows, bad = read(data.encode())
    if oracle is None:
        assert bad
    elif all(len(row) == 2 for row in oracle):
        assert bad == []
        assert [list(row.values()) for row in rows.table.to_pylist()] == oracle[1:]
