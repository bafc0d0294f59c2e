"""A large file read part by part gives the rows, places and refusals that it would give as a whole."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from burnish.data.cache import spill
from burnish.data.files import Files
from burnish.data.readers import stream
from burnish.data.readers.read import read
from burnish.data.rows import join, keep
from burnish.data.sources.address import find
from burnish.errors import DataError

REPEATED = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
cells = st.text(st.sampled_from('ab,"\n\r\té '), max_size=6)
tables = st.lists(st.tuples(cells, cells), min_size=1, max_size=12)
values = st.none() | st.integers(-5, 2**40) | st.floats(-9, 9) | st.sampled_from(["x", "2020-01-02", "é"])
objects = st.lists(st.dictionaries(st.sampled_from("abc"), values, max_size=3), min_size=1, max_size=12)


@pytest.fixture
def streaming(monkeypatch, tmp_path):
    """Make every file a large one, read in blocks of a few bytes."""

    def switch(*, on):
        size = 0 if on else 1 << 40
        monkeypatch.setattr(stream, "LARGE_BYTES", size)
        monkeypatch.setattr(spill, "LARGE_BYTES", size)

    monkeypatch.setenv("BURNISH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(stream, "_BLOCK", 64)
    monkeypatch.setattr(stream, "BLOCKS", (256, 1024))
    return switch


def reading(path, **options):
    [file] = find(str(path), base=None, option="data.train")
    try:
        return read(file, Files(train=(str(path),), **options))
    except DataError as error:
        return str(error)


def same(path, streaming, **options):
    streaming(on=False)
    whole = reading(path, **options)
    streaming(on=True)
    parts = reading(path, **options)
    if isinstance(whole, str) or isinstance(parts, str):
        assert whole == parts
        return None
    assert parts.rows.table.equals(whole.rows.table)
    described = [[one.rows.places.describe(row) for row in range(len(one.rows))] for one in (whole, parts)]
    assert described[0] == described[1]
    assert (parts.bad, parts.digest) == (whole.bad, whole.digest)
    return parts


def quoted(cell):
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',"\n\r') else cell


@REPEATED
@given(tables, st.sampled_from(["", "\n", "\n\n", "\r\n"]))
def test_csv_is_the_same_in_parts(tmp_path, streaming, rows, end):
    path = tmp_path / "rows.csv"
    body = "\n".join(f"{quoted(one)},{quoted(other)}" for one, other in rows)
    path.write_bytes(f"text,label\n{body}{end}".encode())
    same(path, streaming)


@pytest.mark.parametrize(("length", "is_held"), [(100, True), (600, True), (5000, False)])
def test_a_row_longer_than_a_block_is_read_with_larger_ones_or_whole(tmp_path, streaming, length, is_held):
    path = tmp_path / "rows.csv"
    path.write_text("text,label\n" + "short,0\n" * 90 + f"{'x' * length},1\n" + "short,0\n" * 90)
    assert (same(path, streaming).rows.held is not None) == is_held


@REPEATED
@given(st.text(st.sampled_from('ab,"\n\r\té'), min_size=1, max_size=80))
def test_any_text_is_the_same_in_parts(tmp_path, streaming, text):
    for suffix in ("csv", "tsv", "txt"):
        path = tmp_path / f"rows.{suffix}"
        path.write_bytes(text.encode())
        same(path, streaming)


@REPEATED
@given(objects)
def test_json_lines_are_the_same_in_parts(tmp_path, streaming, rows):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    same(path, streaming)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_columnar_files_are_the_same_in_parts(tmp_path, streaming, suffix):
    table = pa.table({"text": pa.array(["a", "b", "a"] * 9).dictionary_encode(), "n": range(27)})
    path = tmp_path / f"rows.{suffix}"
    if suffix == "parquet":
        pa.parquet.write_table(table, path, row_group_size=5)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=4)
    assert same(path, streaming).rows.held is not None


def test_a_large_file_lies_in_the_cache_and_is_parsed_once(tmp_path, streaming, monkeypatch):
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"text,label\n" + b"good,1\nbad,0\n" * 50))
    first = same(path, streaming)
    assert first.rows.held is not None
    monkeypatch.setattr(stream, "delimited_parts", lambda *_, **__: pytest.fail("parsed again"))
    assert reading(path).rows.table.equals(first.rows.table)
    assert [entry for entry in (tmp_path / "cache").iterdir() if entry.name.startswith("unpacked")] == []


def test_rows_chosen_from_a_held_table_are_those_of_a_table_in_memory(tmp_path, streaming):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"text": f"t{number}", "n": number}) + "\n" for number in range(99)))
    streaming(on=True)
    held = reading(path).rows
    mask = np.arange(99) % 3 == 0
    for kept in (keep(held, mask), keep(join([held, held]), np.tile(mask, 2))):
        assert kept.held is not None
        assert kept.table["n"].to_pylist()[:33] == list(range(0, 99, 3))
        assert kept.places.describe(1).endswith("rows.jsonl:4")
    other = keep(held, ~mask)
    assert other.table["n"].to_pylist() == [number for number in range(99) if number % 3]
    assert keep(held, np.ones(99, dtype=bool)) is held
