"""CoNLL columns: sentences as rows, each with its file and line."""

import gzip

import pyarrow as pa
import pytest

from burnish.data.files import Files
from burnish.data.readers.read import read_file
from burnish.data.readers.read_text import read_conll
from burnish.errors import DataError
from burnish.spec.values import Rows
from tests.data_request import Asked
from tests.shared_data import shared_data

SMALL = """\
-DOCSTART- -X- O O

EU NNP I-NP B-ORG
rejects VBZ I-VP O


Peter NNP I-NP B-PER
-DOCSTART- -X- O O
Oh UH O O
"""


def read(text: str | bytes, **options: object) -> tuple[Rows, list[object]]:
    data = text.encode() if isinstance(text, str) else text
    rows, bad = read_conll(pa.py_buffer(data), name="train.txt", **options)
    return rows, [str(row) for row in bad]


def test_sentences_are_rows_of_lists_with_their_lines() -> None:
    rows, bad = read(SMALL)
    assert rows.table["words"].to_pylist() == [["EU", "rejects"], ["Peter"], ["Oh"]]
    assert rows.table["tags"].to_pylist() == [["B-ORG", "O"], ["B-PER"], ["O"]]
    assert [rows.places.describe(row) for row in range(3)] == ["train.txt:3", "train.txt:7", "train.txt:9"]
    assert rows.table["document"].to_pylist() == ["train.txt:1", "train.txt:1", "train.txt:8"]
    assert bad == []


def test_columns_may_be_named_and_delimited() -> None:
    rows, _ = read("1\tEU rep\tB-ORG\n", columns=("id", "words", "tags"), delimiter="\t")
    assert rows.table["words"].to_pylist() == [["EU rep"]]
    assert rows.table.column_names == ["id", "words", "tags", "document"]


def test_a_column_may_be_left_out_and_none_named_twice() -> None:
    rows, _ = read("1 EU x B-ORG\n", columns=("_", "words", "_", "tags"))
    assert rows.table.column_names == ["words", "tags", "document"]
    with pytest.raises(DataError, match="words"):
        read("EU B-ORG\n", columns=("words", "words"))


def test_a_blank_that_does_not_break_is_part_of_its_word() -> None:
    rows, _ = read("10\u00a0000 B-NUM\n")
    assert rows.table["words"].to_pylist() == [["10\u00a0000"]]


def test_words_alone_can_be_read() -> None:
    rows, _ = read("EU\nrejects\n\nPeter")
    assert rows.table.column_names == ["words", "document"]
    assert rows.table["words"].to_pylist() == [["EU", "rejects"], ["Peter"]]


def test_windows_line_ends_and_blank_lines_of_spaces() -> None:
    rows, _ = read("EU B-ORG\r\n  \r\nPeter B-PER\r\n")
    assert rows.table["words"].to_pylist() == [["EU"], ["Peter"]]


def test_a_line_with_a_cell_too_few_makes_its_sentence_bad() -> None:
    rows, bad = read("EU B-ORG\n\nthe O\ncat\n\nOh O\n")
    assert rows.table["words"].to_pylist() == [["EU"], ["Oh"]]
    assert bad == ["train.txt:4: has 1 column, but 2 are expected here"]


def test_bytes_that_are_no_text_are_told_by_line() -> None:
    _, bad = read(b"EU B-ORG\n\nCaf\xe9 O\n")
    assert bad == ["train.txt:3: byte 0xe9 is not UTF-8; save the file as UTF-8"]


def test_a_file_without_sentences_is_refused() -> None:
    with pytest.raises(DataError, match=r"train.txt holds no sentence"):
        read("-DOCSTART- O\n\n")


def test_the_format_is_an_option_or_a_suffix(tmp_path) -> None:
    (tmp_path / "train.txt.gz").write_bytes(gzip.compress(SMALL.encode()))
    (tmp_path / "dev.conll").write_text(SMALL)
    options = Files(dir=str(tmp_path), train="train.txt.gz", validation="dev.conll", format="conll")
    splits = options.load(Asked(columns=("words", "tags")))
    assert (len(splits.train), len(splits.validation)) == (3, 3)
    assert splits.train.table["words"].to_pylist() == splits.validation.table["words"].to_pylist()


def test_a_file_to_tag_is_read_as_the_training_files_were(tmp_path) -> None:
    (tmp_path / "new.txt").write_text("EU\nrejects\n")
    like = Files(train="train.txt", format="conll", columns=("words", "pos", "chunk", "tags"))
    rows = read_file(str(tmp_path / "new.txt"), columns=("words",), like=like)
    assert rows.table["words"].to_pylist() == [["EU", "rejects"]]


def test_the_published_sizes_of_conll_2003() -> None:
    folder = shared_data("conll2003")
    sizes = {}
    for name in ("train", "valid", "test"):
        text = gzip.decompress((folder / f"{name}.txt.gz").read_bytes())
        rows, bad = read_conll(pa.py_buffer(text), name=name)
        assert bad == []
        sizes[name] = (len(rows), sum(len(row) for row in rows.table["words"].to_pylist()))
    assert sizes == {"train": (14041, 203621), "valid": (3250, 51362), "test": (3453, 46435)}
