"""One file becomes several: every row in one of them, classes in proportion, nothing lost on the way."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from burnish.cli.main import run
from burnish.commands.split import split
from burnish.errors import DataError

ROWS = [
    {"user_id": f"u{number // 4}", "text": f"a film with number {number}", "label": "pos" if number % 4 else "neg"}
    for number in range(200)
]
TABLE = pa.Table.from_pylist(ROWS)


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    path = tmp_path / "all.csv"
    lines = [f'{row["user_id"]},"{row["text"]}, it is",{row["label"]}' for row in ROWS]
    path.write_bytes("\r\n".join(["user_id,text,label", *lines]).encode() + b"\r\n")
    return path


def test_every_line_is_in_one_file_as_it_was(csv: Path, tmp_path: Path) -> None:
    divided = split(str(csv), out=tmp_path / "parts", validation="20%", test="10")
    assert {name: path.name for name, path in divided.files.items()} == {
        "train": "train.csv",
        "validation": "validation.csv",
        "test": "test.csv",
    }
    head, *lines = csv.read_bytes().splitlines(keepends=True)
    parts = [path.read_bytes().splitlines(keepends=True) for path in divided.files.values()]
    assert all(part[0] == head for part in parts)
    assert [len(part) - 1 for part in parts] == [150, 40, 10]
    assert Counter(line for part in parts for line in part[1:]) == Counter(lines)


def test_classes_are_counted_and_in_proportion(csv: Path, tmp_path: Path) -> None:
    divided = split(str(csv), out=tmp_path / "parts", validation="20%")
    assert divided.label == "label"
    assert divided.how == "20% of the file, stratified by label, seed 0"
    assert divided.counts == {"neg": {"train": 40, "validation": 10}, "pos": {"train": 120, "validation": 30}}


@pytest.mark.parametrize("flag", ["--validation", "--dev"])
def test_the_size_of_validation_has_two_spellings(
    csv: Path, tmp_path: Path, flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["prepare", "split", str(csv), "--out", str(tmp_path / "parts"), flag, "20%"]) == 0
    assert "validation is 20% of the file, stratified by label" in capsys.readouterr().out
    assert len((tmp_path / "parts" / "validation.csv").read_text().splitlines()) == 41


def test_the_same_seed_gives_the_same_files_and_another_does_not(csv: Path, tmp_path: Path) -> None:
    first, again, other = (split(str(csv), out=tmp_path / str(at), seed=seed) for at, seed in enumerate((1, 1, 2)))
    assert first.files["validation"].read_bytes() == again.files["validation"].read_bytes()
    assert first.files["validation"].read_bytes() != other.files["validation"].read_bytes()


def test_groups_stay_together(csv: Path, tmp_path: Path) -> None:
    divided = split(str(csv), out=tmp_path / "parts", validation="20%", group=["user_id"])
    users = [{line.split(",")[0] for line in path.read_text().splitlines()[1:]} for path in divided.files.values()]
    assert users[0] & users[1] == set()
    assert all(users)


def test_a_packed_file_of_json_lines_gives_packed_files(tmp_path: Path) -> None:
    lines = [json.dumps(row, separators=(", ", ":")) + "\n" for row in ROWS]
    (tmp_path / "all.jsonl.gz").write_bytes(gzip.compress("".join(lines).encode()))
    divided = split(str(tmp_path / "all.jsonl.gz"), out=tmp_path / "parts")
    assert divided.files["validation"].name == "validation.jsonl.gz"
    read = [gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True) for path in divided.files.values()]
    assert Counter(read[0] + read[1]) == Counter(lines)


def test_a_quote_in_tsv_is_plain_text(tmp_path: Path) -> None:
    lines = [f'{row["label"]}\tthe "first" film\r is number {at}\n' for at, row in enumerate(ROWS)]
    (tmp_path / "all.tsv").write_text("label\ttext\n" + "".join(lines), newline="")
    divided = split(str(tmp_path / "all.tsv"), out=tmp_path / "parts")
    read = [path.read_bytes().decode().split("\n")[1:-1] for path in divided.files.values()]
    assert Counter(read[0] + read[1]) == Counter(line[:-1] for line in lines)


def test_a_parquet_file_keeps_types_and_metadata(tmp_path: Path) -> None:
    table = TABLE.set_column(2, "label", TABLE["label"].dictionary_encode())
    table = table.append_column("picture", pa.array([b"\xff\x00"] * 200)).replace_schema_metadata({"made": "by hand"})
    pa.parquet.write_table(table, tmp_path / "all.parquet")
    divided = split(str(tmp_path / "all.parquet"), out=tmp_path / "parts", validation="40")
    train, dev = (pa.parquet.read_table(path) for path in divided.files.values())
    assert dev.schema.equals(pa.parquet.read_table(tmp_path / "all.parquet").schema, check_metadata=True)
    assert (train.num_rows, dev.num_rows) == (160, 40)
    assert {*train["text"].to_pylist(), *dev["text"].to_pylist()} == set(TABLE["text"].to_pylist())


def test_an_arrow_file_gives_arrow_files(tmp_path: Path) -> None:
    pyarrow.feather.write_feather(TABLE, str(tmp_path / "all.feather"), compression="uncompressed")
    divided = split(str(tmp_path / "all.feather"), out=tmp_path / "parts")
    assert [pyarrow.feather.read_table(path).num_rows for path in divided.files.values()] == [180, 20]


def test_without_a_label_rows_are_drawn_without_looking(tmp_path: Path) -> None:
    (tmp_path / "all.csv").write_text("text\n" + "".join(f"{row['text']}\n" for row in ROWS))
    divided = split(str(tmp_path / "all.csv"), out=tmp_path / "parts")
    assert (divided.label, divided.counts) == (None, {"rows": {"train": 180, "validation": 20}})


def test_nothing_is_overwritten(csv: Path, tmp_path: Path) -> None:
    (tmp_path / "validation.csv").write_text("mine")
    with pytest.raises(DataError, match=r"validation\.csv would be overwritten; name another folder with --out"):
        split(str(csv), out=tmp_path)
    assert (tmp_path / "validation.csv").read_text() == "mine"
    assert not (tmp_path / "train.csv").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"validation": "all"}, r"--validation: must be a share like .*, got 'all'"),
        ({"test": "-3"}, r"--test: must be a share like"),
        ({"validation": "200"}, "train has 200 rows, too few to take 200 for validation"),
        ({"label": "lable"}, r"--label: there is no column `lable`. Did you mean `label`\?"),
        ({"group": ["user"]}, "--group: there is no column `user`"),
    ],
)
def test_what_cannot_be_done_is_refused_and_leaves_nothing(
    csv: Path, tmp_path: Path, options: dict[str, object], said: str
) -> None:
    with pytest.raises(DataError, match=said):
        split(str(csv), out=tmp_path / "parts", **options)
    assert not (tmp_path / "parts").exists()


def test_broken_rows_are_told_by_line(tmp_path: Path) -> None:
    (tmp_path / "all.csv").write_text("text,label\na b c,0\na b c,1,2\n")
    with pytest.raises(DataError, match=r"all\.csv:3: has 3 fields, but 2 are expected here"):
        split(str(tmp_path / "all.csv"), out=tmp_path / "parts")


def test_a_format_without_rows_of_its_own_is_refused(tmp_path: Path) -> None:
    (tmp_path / "all.json").write_text('[{"text": "a", "label": 1}]')
    with pytest.raises(DataError, match="is json; only CSV, TSV, JSON lines, Parquet and Arrow files can be split"):
        split(str(tmp_path / "all.json"), out=tmp_path / "parts")


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le"])
def test_a_file_of_another_encoding_is_split_too(tmp_path: Path, encoding: str) -> None:
    lines = [f"schöner Film Nummer {number};{('gut', 'öde')[number % 2]}" for number in range(100)]
    (tmp_path / "all.csv").write_bytes("\n".join(["text;label", *lines, ""]).encode(encoding))
    divided = split(str(tmp_path / "all.csv"), out=tmp_path / "parts", validation="20%")
    written = encoding if encoding == "cp1252" else "utf-8"  # a file of two bytes a character is written as UTF-8
    parts = [path.read_bytes().decode(written).splitlines() for path in divided.files.values()]
    assert [part[0] for part in parts] == ["text;label"] * 2
    assert sorted(line for part in parts for line in part[1:]) == sorted(lines)


def test_several_files_are_split_as_one_below_one_header(csv: Path, tmp_path: Path) -> None:
    head, *lines = csv.read_bytes().splitlines(keepends=True)
    for name, part in {"a": lines[:90], "b": [*lines[90:-1], lines[-1].rstrip()], "d": lines[:2]}.items():
        (tmp_path / f"{name}.csv").write_bytes(b"".join([head, *part]))
    sources = [str(tmp_path / f"{name}.csv") for name in "abd"]
    divided = split(*sources, out=tmp_path / "parts", validation="20%")
    parts = [path.read_bytes().splitlines() for path in divided.files.values()]
    assert [part[0] for part in parts] == [head.rstrip()] * 2
    assert Counter(line for part in parts for line in part[1:]) == Counter(each.rstrip() for each in lines + lines[:2])
    assert divided.how == "20% of the files, stratified by label, seed 0"


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ("user_id,label,text\nu,pos,a\n", "the columns user_id, label, text instead of user_id, text, label than "),
        ("user_id;text;label\nu;a;pos\nu;b;neg\n", "another format, delimiter or encoding than "),
    ],
)
def test_files_whose_rows_cannot_stand_below_one_another_are_refused(
    csv: Path, tmp_path: Path, other: str, why: str
) -> None:
    (tmp_path / "other.csv").write_text(other)
    with pytest.raises(DataError) as refused:
        split(str(csv), str(tmp_path / "other.csv"), out=tmp_path / "parts")
    assert why in str(refused.value)
    assert not (tmp_path / "parts").exists()


def test_tables_of_several_files_keep_their_types(tmp_path: Path) -> None:
    for name, rows in {"a": TABLE.slice(0, 150), "b": TABLE.slice(150)}.items():
        pyarrow.parquet.write_table(rows, tmp_path / f"{name}.parquet")
    divided = split(str(tmp_path / "*.parquet"), out=tmp_path / "parts", validation="20%")
    parts = [pyarrow.parquet.read_table(path) for path in divided.files.values()]
    assert all(part.schema.equals(TABLE.schema) for part in parts)
    assert sorted(pa.concat_tables(parts)["text"].to_pylist()) == sorted(TABLE["text"].to_pylist())
    pyarrow.parquet.write_table(pa.table({**TABLE.to_pydict(), "user_id": range(200)}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet has other types than .*a\.parquet"):
        split(str(tmp_path / "*.parquet"), out=tmp_path / "again")


def test_a_layout_names_the_columns_of_a_file_without_header(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [f'{number}\t{number % 2}\ta\ta "film with number {number}' for number in range(100)]
    (tmp_path / "all.tsv").write_text("\n".join(lines))
    words = [str(tmp_path / "all.tsv"), "--out", str(tmp_path / "parts"), "--layout", "id_label_alpha_text"]
    assert run(["prepare", "split", *words, "--test", "10"]) == 0
    assert "stratified by label" in capsys.readouterr().out
    parts = [(tmp_path / "parts" / f"{name}.tsv").read_text().splitlines() for name in ("train", "validation", "test")]
    assert sorted(line for part in parts for line in part) == sorted(lines)
