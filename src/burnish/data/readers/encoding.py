"""Brings text of any encoding into UTF-8, and guesses the encoding of a file that is not UTF-8."""

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa

from burnish.data.readers.open_file import UTF8_MARK, is_utf8, map_file
from burnish.data.readers.scan import decode_lossy, lost_bytes
from burnish.errors import DataError

_MARKS = {
    UTF8_MARK: "utf-8",
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
_LONGEST_MARK = 4
_CHUNK = 1 << 22
_LOOKED_AT = 1 << 20
_LONGEST_WORD = 64
_LETTER = re.compile(rb"[A-Za-z\x80-\xff]")
_MOST_HIGH = 0.35
"""Western languages write most letters in ASCII; where more of them lie beyond, the language is another."""
_IMPLAUSIBLE = "\xff"
_MANY_ZEROS = 0.3


class NotUtf8(DataError):
    """Refuse text that is not UTF-8; who knows the options of the data can name the encoding."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text

    def advised(self) -> DataError:
        """Name the option that may help."""
        return DataError(f"{self}\n{encoding_advice(self.text)}")


def is_plain(head: bytes, stated: str) -> bool:
    """Tell by its first bytes whether a file can be read as UTF-8 at once."""
    return _effective(head, stated) == "utf-8"


def as_utf8(buffer: pa.Buffer, *, stated: str, name: str) -> pa.Buffer:
    """Convert a text to UTF-8, whatever it is written in; a byte-order mark wins over what is stated."""
    encoding = _effective(buffer[: min(_LONGEST_MARK, buffer.size)].to_pybytes(), stated)
    if encoding == "utf-8":
        return buffer
    _refuse_utf8(buffer, encoding, name=name)
    sink = pa.BufferOutputStream()
    chunks = (buffer[at : min(at + _CHUNK, buffer.size)].to_pybytes() for at in range(0, buffer.size, _CHUNK))
    for piece in _pieces(chunks, encoding, name=name):
        sink.write(piece)
    return sink.getvalue()


def write_utf8(path: Path, target: Path, *, stated: str, name: str) -> None:
    """Write a copy of a file in UTF-8, part by part."""
    with path.open("rb") as source, target.open("wb") as sink:
        encoding = _effective(source.read(_LONGEST_MARK), stated)
        _refuse_utf8(map_file(path), encoding, name=name)
        source.seek(0)
        sink.writelines(_pieces(iter(lambda: source.read(_CHUNK), b""), encoding, name=name))


def likely_encoding(data: bytes) -> str | None:
    """Guess the encoding of text that is not UTF-8; None where a guess would be no better than chance."""
    if data[1::2].count(0) > _MANY_ZEROS * len(data) / 2:
        return "utf-16-le"
    if data[0::2].count(0) > _MANY_ZEROS * len(data) / 2:
        return "utf-16-be"
    text = decode_lossy(data)
    num_high = int(np.count_nonzero(np.frombuffer(data, np.uint8) >= 0x80))
    num_lost = len(lost_bytes(text))
    if num_lost <= num_high - num_lost:
        return None  # most of it is UTF-8: a byte of it is broken
    try:
        western = data.decode("cp1252")
    except UnicodeDecodeError:
        return None
    is_western = num_high <= _MOST_HIGH * len(_LETTER.findall(data)) and _IMPLAUSIBLE not in western
    return "cp1252" if is_western else None


def find_encoding(buffer: pa.Buffer) -> str:
    """Tell what a file is written in, if it is not UTF-8 and its bytes show it."""
    head = buffer[: min(_LOOKED_AT, buffer.size)].to_pybytes()
    if head.startswith(tuple(_MARKS)):
        return "utf-8"
    if b"\0" in head:
        return likely_encoding(head) or "utf-8"
    if is_utf8(buffer):
        return "utf-8"
    first = max(0, int(np.argmax(np.frombuffer(buffer, np.uint8) >= 0x80)) - _LONGEST_WORD)
    return likely_encoding(buffer[first : min(first + _LOOKED_AT, buffer.size)].to_pybytes()) or "utf-8"


def encoding_advice(text: str) -> str | None:
    """Say which option reads a text that has lost bytes; None if it has none."""
    if not lost_bytes(text):
        return None
    likely = likely_encoding(text.encode("utf-8", errors="surrogateescape"))
    if likely is None:
        return (
            "If the file is in another encoding, name it, like data.encoding: cp1251, shift_jis or gb18030 "
            "(`burnish new --encoding cp1251`)"
        )
    return f"The file seems to be in another encoding; set data.encoding: {likely}"


def _effective(head: bytes, stated: str) -> str:
    marked = next((encoding for mark, encoding in _MARKS.items() if head.startswith(mark)), stated)
    return codecs.lookup(marked).name


def _refuse_utf8(buffer: pa.Buffer, encoding: str, *, name: str) -> None:
    """Refuse UTF-8 that is stated to be of one byte a character: it would decode, to nonsense."""
    has_one_byte_a_letter = len(bytes(range(128, 256)).decode(encoding, errors="replace")) == 128
    has_high = buffer.size > 0 and int(np.frombuffer(buffer, np.uint8).max()) >= 0x80
    if has_one_byte_a_letter and has_high and is_utf8(buffer):
        raise DataError(f"{name} is written in UTF-8, and data.encoding says {encoding}; remove data.encoding")


def _pieces(chunks: Iterable[bytes], encoding: str, *, name: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    for chunk in chain(chunks, [None]):
        try:
            text = decoder.decode(chunk or b"", chunk is None)
        except UnicodeDecodeError as error:
            line += error.object[: error.start].decode(encoding, errors="ignore").count("\n")
            byte = f"byte 0x{error.object[error.start]:02x}"
            raise DataError(f"{name}:{line}: {byte} is not {encoding}, which data.encoding says it is") from error
        line += text.count("\n")
        yield text.encode()
