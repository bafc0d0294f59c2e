"""A tokenizer as a value: hashed by what matters, saved and loaded, and applied to whole columns."""

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.data.tokens.tokens import TextAssets, tokenize
from burnish.errors import CheckpointError, DataError


def test_a_column_gives_one_list_of_ids_a_row_without_special_tokens(toy):
    column = pa.array([toy.words(1, 2), "", None, "unheard " + toy.words(3)])
    assert tokenize(column, toy.bert()).to_pylist() == [[11, 12], [], [], [toy.UNK, 13]]


@settings(max_examples=25)
@given(
    rows=st.lists(st.none() | st.lists(st.integers(0, 99), max_size=9), max_size=40),
    chunk=st.integers(1, 50),
)
def test_chunks_and_portions_do_not_show(toy, rows, chunk):
    texts = [None if row is None else toy.words(*row) for row in rows]
    chunks = [texts[start : start + chunk] for start in range(0, len(texts), chunk)]
    column = pa.chunked_array(chunks, type=pa.string())
    expected = [[toy.FIRST_WORD + number for number in row or []] for row in rows]
    result = tokenize(column, toy.plain(100))
    assert result.to_pylist() == expected
    assert result.type == pa.list_(pa.int32())


def test_more_rows_than_one_portion_are_all_encoded(toy):
    result = tokenize(pa.array([toy.words(n % 7) for n in range(10_000)]), toy.plain())
    assert result.flatten().to_pylist() == [toy.FIRST_WORD + n % 7 for n in range(10_000)]


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.string_view()])
def test_every_kind_of_text_column_is_read(toy, kind):
    assert tokenize(pa.array(["w1 w2", None]).cast(kind), toy.plain()).to_pylist() == [[11, 12], []]


def test_a_column_that_is_no_text_is_refused(toy):
    with pytest.raises(DataError, match="cannot be read as text"):
        tokenize(pa.array([[1, 2]]), toy.plain())


def test_truncation_and_padding_left_in_a_tokenizer_are_switched_off(toy):
    tokenizer = toy.bert()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=8)
    column = pa.array([toy.words(1, 2, 3, 4)])
    assert tokenize(column, toy.assets(tokenizer).tokenizer).to_pylist() == [[11, 12, 13, 14]]


def test_assets_come_back_from_disk_the_same(toy, tmp_path):
    tokenizer = toy.xlnet()
    files = {"tokenizer.json": tokenizer.to_str().encode(), "templates/chat.txt": b"hello"}
    saved = toy.assets(tokenizer, files=files, padding_side="left", pad_type_id=4, max_positions=None)
    saved.save(tmp_path / "assets")
    loaded = TextAssets.load(tmp_path / "assets")
    assert loaded == saved
    assert loaded.digest == saved.digest
    assert loaded.tokenizer.encode("w1", "w2").ids == tokenizer.encode("w1", "w2").ids


def test_a_tokenizer_that_was_used_before_has_the_same_digest(toy):
    used = toy.bert()
    used.enable_truncation(128)
    used.enable_padding(length=128)
    files = {"tokenizer.json": used.to_str().encode()}
    assert files != toy.assets().files
    assert toy.assets(files=files).digest == toy.assets().digest


@pytest.mark.parametrize(
    "change",
    [
        {"pad_id": 1},
        {"pad_type_id": 1},
        {"padding_side": "left"},
        {"max_positions": 128},
        {"uses_segments": False},
    ],
)
def test_every_option_is_in_the_digest(toy, change):
    assert toy.assets(**change).digest != toy.assets().digest


def test_every_file_is_in_the_digest(toy):
    other = toy.assets(files={"tokenizer.json": toy.roberta().to_str().encode()})
    more = toy.assets(files={"tokenizer.json": toy.bert().to_str().encode(), "more.json": b"{}"})
    assert len({toy.assets().digest, other.digest, more.digest}) == 3


@pytest.mark.parametrize("name", ["../out.json", "/etc/out.json", "a/../../out.json", "a\\b", ""])
def test_a_file_name_that_leaves_the_folder_is_refused(toy, name, tmp_path):
    toy.assets().save(tmp_path)
    described = json.loads((tmp_path / "assets.json").read_text())
    (tmp_path / "assets.json").write_text(json.dumps(described | {"files": [name]}))
    with pytest.raises(CheckpointError, match="must stay inside the folder"):
        TextAssets.load(tmp_path)


@pytest.mark.parametrize("damage", ["assets.json", "tokenizer.json"])
def test_a_damaged_folder_is_refused_in_a_sentence(toy, damage, tmp_path):
    toy.assets().save(tmp_path)
    (tmp_path / damage).write_text("{")
    with pytest.raises(CheckpointError, match="does not hold a tokenizer that can be read"):
        TextAssets.load(tmp_path)


def test_an_empty_folder_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(CheckpointError, match="it should hold"):
        TextAssets.load(tmp_path)
