"""Rows of a file of lines come out with the very bytes that they went in with."""

import csv
import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.readers.read_delimited import read_delimited
from burnish.data.readers.read_json import read_json_lines
from burnish.data.readers.scan import Dialect
from burnish.data.rows import keep
from burnish.data.splits.divide import head_and_rows

CELLS = st.text(st.sampled_from('ab ,"\n\té'), max_size=6)


def pieces(data: bytes, mask: list[bool], dialect: Dialect) -> list[bytes]:
    rows, bad = read_delimited(pa.py_buffer(data), name="a.csv", dialect=dialect)
    assert not bad
    chosen = keep(rows, np.array(mask))
    return [bytes(piece) for piece in head_and_rows(pa.py_buffer(data), rows.places, chosen.places)]


@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8), st.data())
def test_a_chosen_part_reads_as_those_rows_do(cells: list[tuple[str, str]], data: st.DataObject) -> None:
    mask = data.draw(st.lists(st.booleans(), min_size=len(cells), max_size=len(cells)))
    ending = data.draw(st.sampled_from(["\n", "\r\n"]))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator=ending, quoting=csv.QUOTE_ALL)
    writer.writerows([("text", "label"), *cells])
    written = b"".join(pieces(out.getvalue().encode(), mask, Dialect()))
    found = list(csv.reader(io.StringIO(written.decode(), newline="")))
    assert found == [["text", "label"], *(list(each) for each, is_kept in zip(cells, mask, strict=True) if is_kept)]


def test_all_rows_together_are_the_file() -> None:
    data = b'\xef\xbb\xbftext,label\r\n"two\nlines",1\r\n\r\nplain,0\nlast,1'
    assert b"".join(pieces(data, [True] * 3, Dialect())) == data


def test_a_file_without_header_begins_with_its_rows() -> None:
    dialect = Dialect("\t", quoting=False, header=False, columns=("label", "text"))
    assert pieces(b'1\t"a\n0\tb"\n1\tc\n', [False, True, True], dialect) == [b"", b'0\tb"\n', b"1\tc\n"]


@pytest.mark.parametrize("data", [b'{"a": 1}\n{"a": 2}\n', b'{"a": 1}\n \n{"a": 2}'])
def test_json_lines_stay_as_written(data: bytes) -> None:
    rows, _ = read_json_lines(pa.py_buffer(data), name="a.jsonl")
    (head, second) = head_and_rows(pa.py_buffer(data), rows.places, keep(rows, np.array([False, True])).places)
    assert (bytes(head), bytes(second).strip()) == (b"", b'{"a": 2}')
