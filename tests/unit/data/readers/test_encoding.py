"""Files of any encoding are read as their copies in UTF-8 are, and a wrong one is refused with the likely right one."""

import gzip
from pathlib import Path

import pytest
from pydantic import ValidationError

from burnish.data.cache.spill import LARGE_BYTES
from burnish.data.files import Files
from burnish.data.inspection.inspect import inspect_file
from burnish.data.readers.encoding import likely_encoding
from burnish.data.readers.read import read_file
from burnish.errors import DataError
from burnish.spec.values import Splits
from tests.data_request import Asked

TEXT = "Straße;größe\n" + "".join(f"Königsallee {row} \u2013 „schön“;{row} m²\n" for row in range(40))


def load(path: Path, **options: object) -> Splits:
    return Files(train=str(path), delimiter=";", **options).load(Asked())  # type: ignore[arg-type]  # as YAML gives them


def rows(splits: Splits) -> list[dict[str, str]]:
    return sorted(splits.train.table.to_pylist(), key=str)


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16-le", "utf-16-be", "utf-8", "cp1250", "CP1252"])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_a_file_of_any_encoding_is_read_as_its_copy_in_utf8_is(tmp_path: Path, encoding: str, ending: str) -> None:
    written = TEXT.replace("²", "2")
    (tmp_path / "plain.csv").write_text(written, encoding="utf-8")
    packed = gzip.compress if ending == ".csv.gz" else bytes
    (tmp_path / f"other{ending}").write_bytes(packed(written.encode(encoding)))
    expected = rows(load(tmp_path / "plain.csv"))
    assert rows(load(tmp_path / f"other{ending}", encoding=encoding)) == expected


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "utf-32"])
def test_a_byte_order_mark_needs_no_option_and_wins_over_one(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(TEXT.encode(encoding))
    assert rows(load(path)) == rows(load(path, encoding="cp1252"))
    assert load(path).train.table.column_names == ["Straße", "größe"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", "schön\nüber\nallem\n"),
        ("a.jsonl", '{"text": "schön"}\n{"text": "über"}\n{"text": "allem"}\n'),
        ("a.json", '[{"text": "schön"}, {"text": "über"}, {"text": "allem"}]'),
    ],
)
def test_other_texts_have_encodings_too(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_bytes(content.encode("latin-1"))
    found = Files(train=str(tmp_path / name), encoding="latin-1").load(Asked())
    texts = [*found.train.table["text"].to_pylist(), *found.validation.table["text"].to_pylist()]
    assert sorted(texts) == ["allem", "schön", "über"]


def test_class_folders_have_encodings_too(tmp_path: Path) -> None:
    for label, text in (("neg", "schlecht und öde"), ("pos", "schön")):
        (tmp_path / label).mkdir()
        for row in range(4):
            (tmp_path / label / f"{row}.txt").write_bytes(text.encode("cp1252"))
    found = Files(train=str(tmp_path), encoding="cp1252").load(Asked())
    assert set(found.train.table["text"].to_pylist()) == {"schlecht und öde", "schön"}


def test_a_large_file_of_another_encoding_is_read_as_its_copy_is(tmp_path: Path) -> None:
    line = f"{'Königsallee ' * 40};1\n"
    content = "Straße;größe\n" + line * (2 * LARGE_BYTES // len(line))
    (tmp_path / "plain.csv").write_bytes(content.encode())
    (tmp_path / "other.csv").write_bytes(content.encode("cp1252"))
    (tmp_path / "wide.csv").write_bytes(content.encode("utf-16"))
    plain, other = load(tmp_path / "plain.csv"), load(tmp_path / "other.csv", encoding="cp1252")
    assert other.train.table.equals(plain.train.table)
    assert load(tmp_path / "wide.csv").train.table.equals(plain.train.table)
    assert other.train.held is not None


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_a_file_that_is_not_utf8_is_refused_with_the_option_and_its_likely_value(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("ort;größe\nKöln;1\nBonn;2\n".encode(encoding))
    with pytest.raises(DataError, match=r"a\.csv:1: byte 0xf6 is not UTF-8(.|\n)*data\.encoding: cp1252"):
        load(path)
    path.write_bytes("ort;flaeche\nKöln;1\nBonn;2\n".encode(encoding))
    with pytest.raises(DataError, match=r"a\.csv:2: byte 0xf6 is not UTF-8(.|\n)*data\.encoding: cp1252"):
        load(path)


def test_a_byte_that_the_encoding_has_not_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"a;b\nx;1\ny\x81;2\n")
    with pytest.raises(DataError, match=r"a\.csv:3: byte 0x81 is not cp1252"):
        load(path, encoding="cp1252")


def test_utf8_is_not_read_as_something_else(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(TEXT, encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.csv is written in UTF-8, and data\.encoding says cp1252"):
        load(path, encoding="cp1252")


@pytest.mark.parametrize("name", ["latin-7x", "base64", "rot13", ""])
def test_what_is_no_encoding_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match=r"like utf-8, cp1252"):
        Files(train="a.csv", encoding=name)


def test_encoding_and_decimal_are_part_of_the_fingerprint(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a;b\n" + "x;1,5\n" * 20)
    found = {load(path, **options).fingerprint for options in ({}, {"encoding": "cp1252"}, {"decimal": ","})}
    assert len(found) == 3


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("Größe in Köln, très bien \u2013 „schön“ €".encode("cp1252"), "cp1252"),
        ("Größe in Köln".encode("latin-1"), "cp1252"),
        ("Größe in Köln und Bonn".encode("utf-16-le"), "utf-16-le"),
        ("Größe in Köln und Bonn".encode("utf-16-be"), "utf-16-be"),
        ("Съешь же ещё этих мягких французских булок".encode("cp1251"), None),
        ("Größe in Köln, und ein Byte: ".encode() + b"\xf6", None),
        (b"broken \x81 byte", None),
    ],
)
def test_the_likely_encoding_is_named_where_there_is_one(data: bytes, expected: str | None) -> None:
    assert likely_encoding(data) == expected


def test_looking_at_a_file_finds_its_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(TEXT.encode("cp1252"))
    found = inspect_file(str(path))
    assert (found.options.encoding, found.options.delimiter) == ("cp1252", ";")
    assert [column.name for column in found.columns] == ["Straße", "größe"]


def test_a_file_to_predict_is_decoded_as_training_files_were_or_as_utf8(tmp_path: Path) -> None:
    like = Files(train="a.csv", delimiter=";", encoding="cp1252")
    for encoding in ("cp1252", "utf-8", "utf-16"):
        path = tmp_path / f"{encoding}.csv"
        path.write_bytes(TEXT.encode(encoding))
        found = read_file(str(path), columns=("Straße",), like=like).table["Straße"].to_pylist()
        assert found[0] == "Königsallee 0 \u2013 „schön“"


def test_a_file_to_predict_is_refused_without_options_that_nobody_can_set(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("text\nschön\n".encode("cp1252"))
    with pytest.raises(DataError, match="byte 0xf6 is not UTF-8") as caught:
        read_file(str(path), columns=("text",))
    assert "data." not in str(caught.value)
