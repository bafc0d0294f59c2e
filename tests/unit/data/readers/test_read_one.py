"""A file to predict is read by its header, or else as the training files were."""

from pathlib import Path

import pytest

from burnish.data.files import Files
from burnish.data.readers.read import read_file
from burnish.errors import DataError


def texts(path: Path, *, like: Files | None = None) -> list[str]:
    found: list[str] = read_file(str(path), columns=("text",), like=like).table.column("text").to_pylist()
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.csv"


def test_a_header_that_names_the_columns_is_believed(path: Path) -> None:
    path.write_text("text,label\nx,1\n")
    assert texts(path, like=Files(train="a.csv", header=False, columns=("label", "text"))) == ["x"]


def test_a_file_without_header_is_read_as_the_training_files_were(path: Path) -> None:
    path.write_text("1,x y\n0,z\n")
    assert texts(path, like=Files(train="a.csv", header=False, columns=("label", "text"))) == ["x y", "z"]


def test_the_delimiter_and_quoting_of_training_come_first(path: Path) -> None:
    path.write_text('text;label\n"x", said he;1\n')
    assert texts(path, like=Files(train="a.csv", delimiter=";", quoting=False)) == ['"x", said he']


def test_a_plain_file_is_read_plainly_whatever_training_read(path: Path) -> None:
    path.write_text("text,label\nx,1\n")
    assert texts(path, like=Files(train="a.csv", delimiter=";")) == ["x"]


def test_a_missing_column_is_told_without_options_that_nobody_can_set(path: Path) -> None:
    path.write_text("body;label\nx;1\n")
    with pytest.raises(DataError, match="there is no column `text`") as caught:
        texts(path)
    assert "data." not in str(caught.value)


def test_a_broken_row_of_a_file_without_header_is_told_as_such(path: Path) -> None:
    path.write_text("1,x\n0,y,z\n")
    with pytest.raises(DataError, match=r"1 of 2 rows of .*rows.csv cannot be used\n.*:2: has 3 fields"):
        texts(path, like=Files(train="a.csv", header=False, columns=("label", "text")))


def test_text_is_read_as_documents_if_the_training_files_were(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n\nthree\n")
    like = Files(train=("b.txt",), format="documents")
    assert len(read_file(str(tmp_path / "a.txt"), columns=("text",), like=like)) == 2
    assert len(read_file(str(tmp_path / "a.txt"), columns=("text",))) == 3


def test_with_defaults_a_file_may_lack_columns_but_neither_all_nor_by_a_slip(path: Path) -> None:
    path.write_text("fare,note\n1,x\n")
    rows = read_file(str(path), columns=("fare", "miles"), absent="default")
    assert rows.table.column_names == ["fare", "note"]
    with pytest.raises(DataError, match="the model: there is no column `miles`"):
        read_file(str(path), columns=("fare", "miles"))
    path.write_text("fare,mile\n1,2\n")
    with pytest.raises(DataError, match=r"no column `miles`\. Did you mean `mile`"):
        read_file(str(path), columns=("fare", "miles"), absent="default")
    path.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="no column `fare`"):
        read_file(str(path), columns=("fare", "miles"), absent="default")
