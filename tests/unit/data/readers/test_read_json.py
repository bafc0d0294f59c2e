"""JSON lines and documents come out as tables, and broken lines by number."""

import json
from contextlib import nullcontext

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.readers.read_json import read_json, read_json_lines
from burnish.errors import DataError


def table(data: bytes) -> dict[str, list[object]]:
    rows, bad = read_json_lines(pa.py_buffer(data), name="a.jsonl")
    assert bad == []
    return rows.table.to_pydict()


def faults(data: bytes) -> list[tuple[int | None, str]]:
    return [(row.line, row.why) for row in read_json_lines(pa.py_buffer(data), name="a.jsonl")[1]]


def document(data: object) -> dict[str, list[object]]:
    buffer = pa.py_buffer(data if isinstance(data, bytes) else json.dumps(data).encode())
    return read_json(buffer, name="a.json")[0].table.to_pydict()


def test_types_are_kept() -> None:
    data = b'{"t": "x", "n": 1, "l": ["a", "b"]}\n{"t": "y", "n": 2}\n'
    assert table(data) == {"t": ["x", "y"], "n": [1, 2], "l": [["a", "b"], None]}


@pytest.mark.parametrize("data", [b'\xef\xbb\xbf{"a":1}\n', b'{"a":1}\r\n', b'{"a":1}', b'\n  {"a":1}\n\n'])
def test_marks_blanks_and_line_ends_do_not_show(data: bytes) -> None:
    assert table(data) == {"a": [1]}


def test_dates_stay_text() -> None:
    assert table(b'{"d": "2020-01-01", "l": ["2020-01-02"]}\n') == {"d": ["2020-01-01"], "l": [["2020-01-02"]]}


def test_numbers_beside_words_become_text() -> None:
    assert table(b'{"label": 1}\n{"label": "x"}\n{"label": null}\n') == {"label": ["1", "x", None]}


def test_integers_too_long_for_the_machine_lose_no_digit() -> None:
    assert table(b'{"id": 99999999999999999999}\n') == {"id": ["99999999999999999999"]}


def test_lines_that_hold_no_object_are_named() -> None:
    data = b'{"a":1}\nnull\n[1]\n{"a":\n\n{"a":"\xff"}\n{"a":1,"a":2}\n{"a":"\\ud800"}\n'
    assert faults(data) == [
        (2, 'holds null where an object like {"text": …} is expected'),
        (3, 'holds a list where an object like {"text": …} is expected'),
        (4, "is not JSON: Expecting value at column 6"),
        (6, "byte 0xff is not UTF-8; save the file as UTF-8"),
        (7, "the key `a` is given more than once"),
        (8, "contains half of a surrogate pair, which is not a character"),
    ]


def test_two_objects_on_one_line_are_not_two_rows() -> None:
    assert faults(b'{"a":1}{"a":2}\n') == [(1, "is not JSON: Extra data at column 8")]


def test_deep_nesting_is_refused_and_does_not_crash() -> None:
    assert faults(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\nx\n")[0][0] == 1


@pytest.mark.parametrize(
    "data",
    [
        [{"a": 1}, {"a": 2}],
        {"version": 1, "data": [{"a": 1}, {"a": 2}]},
        {"a": [1, 2]},
        b'[\n  {"a": 1},\n  {"a": 2}\n]\n',
        b'{"a": 1}\n{"a": 2}\n',
    ],
)
def test_a_document_may_be_laid_out_in_any_usual_way(data: object) -> None:
    assert document(data) == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'[{"a": 1},\n {"a": }]', "a.json:2: is not JSON: Expecting value at column 8"),
        (b"[1, 2]", "a.json row 1 is a number where an object is expected"),
        (b"[]", "a.json holds no rows"),
        (b'"text"', "a.json holds no table"),
        (b'[{"a": "\xff"}]', "a.json:1: byte 0xff is not UTF-8"),
    ],
)
def test_a_document_without_a_table_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(DataError) as caught:
        document(data)
    assert str(caught.value).startswith(message)


ROW = st.fixed_dictionaries({"t": st.text(st.characters(codec="utf-8"), max_size=8), "n": st.integers(-9, 9)})


@given(st.lists(ROW, min_size=1, max_size=6))
def test_whatever_is_written_is_read_back(rows: list[dict[str, object]]) -> None:
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    assert table(data) == {"t": [row["t"] for row in rows], "n": [row["n"] for row in rows]}
    assert document(rows) == table(data)


@pytest.mark.parametrize("other", [1.5, 2**63, None, "word"])
def test_whole_numbers_of_64_bits_keep_their_digits(other: object) -> None:
    numbers = [2**62 + at for at in range(3)]
    rows = b"".join(json.dumps({"id": value}).encode() + b"\n" for value in [*numbers, other])
    for found in (table(rows)["id"], document([{"id": value} for value in [*numbers, other]])["id"]):
        assert [str(value) for value in found[:3]] == [str(value) for value in numbers]


def nested(levels: int, value: str = "1") -> str:
    return "[" * levels + value + "]" * levels


@pytest.mark.parametrize("levels", [99, 100, 101, 2000, 100_000])
def test_deeply_nested_rows_are_refused_by_their_line(levels: int) -> None:
    good, odd = '{"a": 1, "t": "' + "[" * 500 + '"}', f'{{"b": {nested(levels)}}}'
    expected = [] if levels < 100 else [(2, "is nested too deeply; at most 100 levels are read")]
    assert faults(f"{good}\n{odd}\n".encode()) == expected
    with pytest.raises(DataError, match="nested too deeply") if expected else nullcontext():
        document(f"[{odd}]".encode() if levels > 99 else odd.encode())


@pytest.mark.parametrize("whole", [False, True])
def test_a_number_of_too_many_digits_is_refused(whole: bool) -> None:
    row = f'{{"n": {"9" * 5001}}}'.encode()
    if whole:
        with pytest.raises(DataError, match=r"a\.json: has a number with too many digits; at most 4,300"):
            document(b"[" + row + b"]")
    else:
        assert faults(row) == [(1, "has a number with too many digits; at most 4,300 are read")]


def test_half_a_surrogate_pair_is_refused_in_a_document_too() -> None:
    with pytest.raises(DataError, match=r"a\.json: contains half of a surrogate pair"):
        document(b'[{"t": "\\ud800"}]')
