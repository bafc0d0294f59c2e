"""Rows from TFRecord files: what was written comes back, and damage is told by the record."""

import gzip
import io
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tfrecord.reader import tfrecord_loader
from tfrecord.tools import tfrecord2idx

from burnish.data.codecs.example import Feature, serialise_example, write_examples
from burnish.data.codecs.tfrecord import write_records
from burnish.data.readers.read import read_file
from burnish.data.readers.read_columnar import read_tfrecord
from burnish.errors import DataError

TABLE = pa.table(
    {"label": [1, 0, 1], "price": [12.3, None, -4.5], "text": ["good", "né", None], "tags": [[1, 2], [], [3]]}
)


def written(table: pa.Table) -> bytes:
    stream = io.BytesIO()
    write_examples(stream, table)
    return stream.getvalue()


def test_what_was_written_comes_back_with_its_columns() -> None:
    rows, bad = read_tfrecord(pa.py_buffer(written(TABLE)), name="a.tfrecord")
    assert bad == []
    assert rows.table.select(TABLE.column_names).to_pydict() == TABLE.to_pydict()
    assert rows.places.describe(1) == "a.tfrecord row 2"


def test_shards_are_found_by_a_glob_and_unpacked(tmp_path: Path) -> None:
    for shard in range(2):
        (tmp_path / f"train-0000{shard}.tfrecord.gz").write_bytes(
            gzip.compress(written(TABLE.drop_columns("tags").slice(shard, 1)))
        )
    rows = read_file(str(tmp_path / "train-*.tfrecord.gz"), columns=("text", "label"))
    assert rows.table["text"].to_pylist() == ["good", "né"]


def test_a_list_of_one_value_in_a_shard_is_still_a_list(tmp_path: Path) -> None:
    for shard, tags in enumerate([[[1, 2], []], [[3], []]]):
        (tmp_path / f"{shard}.tfrecord").write_bytes(written(pa.table({"tags": tags, "label": [0, 1]})))
    rows = read_file(str(tmp_path / "*.tfrecord"), columns=("tags", "label"))
    assert rows.table.to_pydict() == {"tags": [[1, 2], [], [3], []], "label": [0, 1, 0, 1]}


def records_of(*features: dict[str, bytes]) -> pa.Buffer:
    stream = io.BytesIO()
    write_records(
        stream,
        [serialise_example({name: Feature("bytes", (value,)) for name, value in each.items()}) for each in features],
    )
    return pa.py_buffer(stream.getvalue())


def test_a_picture_beside_a_text_is_a_column_of_bytes() -> None:
    rows, bad = read_tfrecord(records_of(*[{"text": b"good", "image": b"\xff\xd8\xff"}] * 3), name="a.tfrecord")
    assert bad == []
    assert rows.table["text"].to_pylist() == ["good"] * 3


def test_a_text_that_is_none_is_a_bad_row_and_the_others_keep_their_numbers() -> None:
    rows, bad = read_tfrecord(records_of({"text": b"a"}, {"text": b"\xff"}, {"text": b"c"}), name="a.tfrecord")
    assert list(map(str, bad)) == ["a.tfrecord record 2: its text is no text in UTF-8"]
    assert rows.places.describe(1) == "a.tfrecord row 3"


def test_a_damaged_record_is_a_bad_row_and_a_cut_file_is_refused() -> None:
    content = bytearray(written(TABLE))
    content[20] ^= 1
    rows, bad = read_tfrecord(pa.py_buffer(bytes(content)), name="a.tfrecord")
    assert len(rows) == 2
    assert str(bad[0]).startswith("a.tfrecord record 1: its bytes are not those that were written")
    with pytest.raises(DataError, match="record 3 is cut short"):
        read_tfrecord(pa.py_buffer(written(TABLE)[:-3]), name="a.tfrecord")


def test_a_feature_of_two_kinds_is_refused() -> None:
    stream = io.BytesIO()
    write_records(stream, [serialise_example({"x": Feature(kind, (1,))}) for kind in ("int64", "float")])
    with pytest.raises(DataError, match=r"a\.tfrecord: x holds float and int64"):
        read_tfrecord(pa.py_buffer(stream.getvalue()), name="a.tfrecord")


@given(st.lists(st.binary(max_size=60), max_size=4))
def test_no_bytes_of_a_stranger_end_in_a_traceback(records: list[bytes]) -> None:
    stream = io.BytesIO()
    write_records(stream, records)
    try:
        rows, bad = read_tfrecord(pa.py_buffer(stream.getvalue()), name="x")
    except DataError:
        return
    assert len(rows) + len(bad) <= len(records)


FIXTURE = Path(__file__).parents[3] / "fixtures" / "tfrecord"
FILMS = {
    "text": ["a warm, funny film", "dull and cold", "größer 中文 🎬"],
    "label": ["pos", "neg", "pos"],
    "stars": [4.5, 1.1, 3.0],
    "votes": [[3, -1], [], [7]],
    "seen": [2**40, -(2**63), 0],
}
"""What the script beside the fixture had TensorFlow write."""


@pytest.mark.parametrize("name", ["films.tfrecord", "films.tfrecord.gz"])
def test_what_tensorflow_wrote_is_read(name: str) -> None:
    rows = read_file(str(FIXTURE / name), columns=("text",))
    assert {column: rows.table[column].to_pylist() for column in FILMS} == FILMS


def test_what_is_written_here_is_what_tensorflow_wrote_to_the_last_byte() -> None:
    table = pa.table({**FILMS, "stars": pa.array(FILMS["stars"], pa.float32())})
    assert written(table) == (FIXTURE / "films.tfrecord").read_bytes()


def test_the_package_tfrecord_reads_what_is_written_here(tmp_path: Path) -> None:
    (tmp_path / "films.tfrecord").write_bytes(written(pa.table(FILMS)))
    index = tmp_path / "films.index"
    tfrecord2idx.create_index(str(tmp_path / "films.tfrecord"), str(index))
    assert len(index.read_text().splitlines()) == 3
    loader = tfrecord_loader(str(tmp_path / "films.tfrecord"), str(index), {"text": "byte", "seen": "int"})
    found = [(bytes(row["text"]).decode(), int(row["seen"][0])) for row in loader]
    assert sorted(found) == sorted(zip(FILMS["text"], FILMS["seen"], strict=True))  # it begins at a random record
