"""One file is read by its suffix or by what the options say, packed or plain, near or far."""

import gzip
import hashlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import fsspec
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from burnish.data.files import Files
from burnish.data.readers import read as module
from burnish.data.readers.read import ReadFile, read
from burnish.data.sources.address import find
from burnish.errors import DataError

TABLE = pa.table({"text": ["x", "y"], "label": ["0", "1"]})
CSV = b"text,label\nx,0\ny,1\n"


def load(path: Path | str, **options: object) -> ReadFile:
    return read(find(str(path))[0], Files(train=str(path), **options))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", CSV),
        ("a.csv.gz", gzip.compress(CSV, mtime=0)),
        ("a.csv.zst", pa.compress(CSV, codec="zstd", asbytes=True)),
        ("a.tsv", CSV.replace(b",", b"\t")),
        ("a.jsonl", b'{"text":"x","label":"0"}\n{"text":"y","label":"1"}\n'),
        ("a.json", b'[{"text":"x","label":"0"},{"text":"y","label":"1"}]'),
    ],
)
def test_the_suffix_tells_the_format(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    assert load(tmp_path / name).rows.table.equals(TABLE)


def test_parquet_and_arrow_bring_their_types(tmp_path: Path) -> None:
    typed = pa.table({"text": ["x", "y"], "kind": pa.array(["a", "b"]).dictionary_encode(), "n": [1, 2]})
    pa.parquet.write_table(typed, tmp_path / "a.parquet")
    pa.feather.write_feather(typed, tmp_path / "a.arrow")
    with pa.ipc.new_stream(tmp_path / "b.arrow", typed.schema) as stream:
        stream.write_table(typed)
    for name in ("a.parquet", "a.arrow", "b.arrow"):
        rows = load(tmp_path / name).rows
        assert rows.table.to_pydict() == {"text": ["x", "y"], "kind": ["a", "b"], "n": [1, 2]}
        assert rows.places.describe(1) == f"{tmp_path / name} row 2"


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_two_columns_of_one_name_are_refused(tmp_path: Path, suffix: str) -> None:
    twins = pa.Table.from_arrays([pa.array([1]), pa.array(["x"])], names=["n" * 99, "n" * 99])
    path = tmp_path / f"a{suffix}"
    if suffix == ".parquet":
        pa.parquet.write_table(twins, path)
    else:
        with pa.ipc.new_file(path, twins.schema) as file:
            file.write_table(twins)
    with pytest.raises(DataError, match=f"names the column {'n' * 60} more than once; give each column its own name"):
        load(path)


def test_plain_text_is_a_row_a_line_without_the_blank_ones(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\n\ntwo \x0b\xe2\x80\xa8 still two\n\xff\n")
    reading = load(tmp_path / "a.txt")
    assert reading.rows.table["text"].to_pylist() == ["one", "two \x0b\u2028 still two"]
    assert reading.rows.places.describe(1).endswith("a.txt:3")
    assert [row.line for row in reading.bad] == [4]


def test_class_folders_give_text_label_and_id(tmp_path: Path) -> None:
    for name, data in {"pos/1.txt": b"good\n", "neg/2.txt": b"bad", "neg/3.txt": b"\xff", "neg/readme.md": b""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    reading = load(tmp_path)
    assert reading.rows.table.to_pylist() == [
        {"text": "bad", "label": "neg", "id": "neg/2.txt"},
        {"text": "good\n", "label": "pos", "id": "pos/1.txt"},
    ]
    assert reading.rows.places.describe(1) == f"{tmp_path}/pos/1.txt:1"
    assert [row.file for row in reading.bad] == [f"{tmp_path}/neg/3.txt"]


def test_a_class_folders_digest_sees_names_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "pos").mkdir()
    (tmp_path / "pos" / "1.txt").write_text("good")
    first = load(tmp_path).digest
    (tmp_path / "pos" / "1.txt").rename(tmp_path / "pos" / "2.txt")
    assert load(tmp_path).digest != first


def test_a_url_is_fetched() -> None:
    fsspec.filesystem("memory").pipe("/far/a.csv.gz", gzip.compress(CSV, mtime=0))
    reading = load("memory://far/a.csv.gz")
    assert reading.rows.table.equals(TABLE)
    assert reading.rows.places.describe(0) == "memory://far/a.csv.gz:2"


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv.gz", gzip.compress(CSV * 100, mtime=0)[:-12], "could not be read: it is not a complete gzip file"),
        ("a.csv.zst", b"nonsense", "could not be read: it is not a complete zstd file"),
        ("a.parquet", b"nonsense", "is not a complete Parquet file"),
        ("a.arrow", b"ARROW1nonsense", "is not a complete Arrow file"),
        ("a.xlsx", b"x", "a.xlsx is a spreadsheet; save the sheet as CSV, and use that file"),
        ("a.xyz", b"x", "has the suffix .xyz, which is not a known format; set data.format"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=message):
        load(tmp_path / name)


def test_a_directory_without_class_folders_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a directory without class folders"):
        load(tmp_path)


def test_folders_must_be_a_directory(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(CSV)
    with pytest.raises(DataError, match="needs a local directory"):
        load(tmp_path / "a.csv", format="folders")


@pytest.mark.parametrize(
    ("layout", "data", "columns"),
    [
        ("id_label_alpha_text", b'1\t0\ta\t"x\n2\t1\ta\ty\textra\n', ["id", "label", "alpha", "text"]),
        ("id_alpha_label_text_a_text_b", b"1\ta\t0\tx\tz\n", ["id", "alpha", "label", "text_a", "text_b"]),
    ],
)
def test_the_headerless_layouts_are_one_option(tmp_path: Path, layout: str, data: bytes, columns: list[str]) -> None:
    (tmp_path / "train").write_bytes(data)
    table = load(tmp_path / "train", layout=layout).rows.table
    assert table.column_names == columns
    assert table["label"][0].as_py() == "0"
    assert table.num_rows == data.count(b"\n")


def test_a_delimiter_can_be_chosen(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(CSV.replace(b",", b";"))
    assert load(tmp_path / "a.csv", delimiter=";").rows.table.equals(TABLE)


def test_documents_are_what_stands_between_blank_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\none\ntwo\n\n  \nthree\n\nfour\nfive\n")
    rows = load(tmp_path / "a.txt", format="documents").rows
    assert rows.table["text"].to_pylist() == ["one\ntwo", "three", "four\nfive"]
    assert [rows.places.describe(row).rpartition(":")[2] for row in range(3)] == ["2", "6", "8"]


class _Server(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name = self.path.partition("?")[0]
        if name == "/a.csv":
            self._answer(CSV, promised=len(CSV))
        elif name == "/cut.csv":
            self._answer(CSV, promised=len(CSV) + 10)
        else:
            self.send_error(404, "nothing here")

    def _answer(self, body: bytes, *, promised: int) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(promised))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def web() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Server) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_file_on_the_web_is_read(web: str) -> None:
    reading = load(f"{web}/a.csv?token=1.2")
    assert reading.rows.table.equals(TABLE)
    assert reading.digest == hashlib.sha256(CSV).hexdigest()


@pytest.mark.parametrize(
    ("name", "message"), [("b.csv", "404: nothing here"), ("cut.csv", "the connection ended after 19 of 29 bytes")]
)
def test_a_file_that_the_web_does_not_give_is_refused(web: str, name: str, message: str) -> None:
    with pytest.raises(DataError, match=f"/{name} could not be read: .*{message}"):
        load(f"{web}/{name}")


@pytest.mark.parametrize("name", ["a.csv", "folder"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    if name == "folder":
        (path / "label").mkdir(parents=True)
        path = path / "label" / "1.txt"
    path.write_bytes(CSV)
    hashed = module.sha256_of

    def digest(found: Path) -> str:
        told = hashed(found)
        path.write_bytes(CSV.replace(b"x", b"z"))
        return told

    monkeypatch.setattr(module, "sha256_of", digest)
    with pytest.raises(DataError, match="changed while it was being read; start again when nothing writes to it"):
        load(tmp_path / name)


def test_text_that_is_not_utf8_is_refused_in_parquet(tmp_path: Path) -> None:
    broken = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    pa.parquet.write_table(pa.table({"text": broken}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet is not a complete Parquet file: .*UTF8"):
        load(tmp_path / "a.parquet")
