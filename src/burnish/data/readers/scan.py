"""Reads delimited text record by record: slow and exact, to name the line of everything that is wrong."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_SHOWN = 2000
_SHOWN_TAIL = 40
_RELEASED_AFTER = 1 << 24
_LOST_BYTE = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True)
class Dialect:
    """How a delimited file is written."""

    delimiter: str = ","
    quoting: bool = True
    header: bool | None = None
    """Whether the first record names the columns; None to tell by `columns`."""
    columns: tuple[str, ...] = ()
    """Names for a file without header."""
    is_ragged: bool = False
    """Whether a row may have more fields than there are columns; they are dropped."""
    decimal: str = "."
    """The decimal mark of its numbers."""


@dataclass(frozen=True)
class CsvRecord:
    """One row as it stands in the file."""

    line: int
    fields: Sequence[str]
    raw: str
    fault: str | None = None


def scan_records(text: str, dialect: Dialect) -> Iterator[CsvRecord]:
    """Scan every record that is not blank; lines are counted by their line feeds, as editors do."""
    return _scan_quoted(text, dialect.delimiter) if dialect.quoting else _scan_unquoted(text, dialect.delimiter)


def decode_lossy(data: bytes) -> str:
    """Decode UTF-8, keeping each lost byte as a mark that `lost_byte` finds again."""
    return data.decode("utf-8", errors="surrogateescape")


def lost_bytes(text: str) -> list[str]:
    """Find the marks of bytes that were no UTF-8."""
    return _LOST_BYTE.findall(text)


def lost_byte(text: str) -> str | None:
    """Say which byte of a text was no UTF-8, if any."""
    found = _LOST_BYTE.search(text)
    return None if found is None else f"byte 0x{ord(found[0]) - 0xDC00:02x} is not UTF-8; save the file as UTF-8"


def _scan_unquoted(text: str, delimiter: str) -> Iterator[CsvRecord]:
    for line, written in enumerate(text.split("\n"), start=1):
        raw = written.removesuffix("\r")
        if raw:
            yield CsvRecord(line, raw.split(delimiter), raw[:_SHOWN], lost_byte(raw))


def _scan_quoted(text: str, delimiter: str) -> Iterator[CsvRecord]:
    parts = _Parts(delimiter)
    start, line = 0, 1
    while start < len(text):
        record, end = _record(text, start, line=line, parts=parts)
        line += text.count("\n", start, end)
        start = end
        if record.raw:
            yield record


class _Parts:
    """The two ways a field can be written, and what ends it."""

    def __init__(self, delimiter: str) -> None:
        plain = f"[^{re.escape(delimiter)}\n]*"
        self.delimiter = delimiter
        self.plain = re.compile(plain)
        # possessive, for an unclosed quote must fail at once and not be tried in every other way
        self.quoted = re.compile(f'"((?:[^"]++|"")*+)"({plain})')


def _record(text: str, start: int, *, line: int, parts: _Parts) -> tuple[CsvRecord, int]:
    fields: list[str] = []
    at = start
    while True:
        quoted = parts.quoted.match(text, at)
        if quoted is None and text.startswith('"', at):
            return _abandon(text, start, line=line, fault="a quote opens here and never closes")
        match = quoted or parts.plain.match(text, at)
        assert match is not None  # an empty field matches
        at = match.end()
        is_last = not text.startswith(parts.delimiter, at)
        tail = match[2 if quoted else 0].removesuffix("\r" if is_last else "")
        if quoted and tail:
            return _abandon(text, start, line=line, fault=_tail_fault(text, start, line=line, quoted=quoted))
        fields.append(quoted[1].replace('""', '"') if quoted else tail)
        if is_last:
            break
        at += 1
    raw = text[start:at].removesuffix("\r")
    return CsvRecord(line, fields, raw[:_SHOWN], lost_byte(raw)), at + 1


def _tail_fault(text: str, start: int, *, line: int, quoted: re.Match[str]) -> str:
    num_lines = text.count("\n", start, quoted.end(1))
    where = f" on line {line + num_lines}" if num_lines else ""
    return (
        f"text follows a closing quote{where}: `{quoted[2][:_SHOWN_TAIL]}`; write a quote inside a "
        f"quoted field twice, or leave the field unquoted if the quote is only text"
    )


def _abandon(text: str, start: int, *, line: int, fault: str) -> tuple[CsvRecord, int]:
    # going on at the next line costs one row; believing the quote would swallow all up to where it closes, if it does
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    return CsvRecord(line, (), text[start:end][:_SHOWN], fault), end + 1


def has_strict_quotes(body: memoryview, delimiter: str, *, release: Callable[[], None] = lambda: None) -> bool:
    """Tell whether each quote that opens a field closes it, and nothing follows before the next: no text is glued on.

    `release` is called now and then, for a file that is mapped would fill the memory while it is looked through.
    """
    begins, ends = (f"[^{re.escape(delimiter)}{marks}]".encode() for marks in ("\n", "\r\n"))
    field = b'(?<!%s)"(?:[^"]++|"")*+"(?!%s)' % (begins, ends)
    some = re.compile(b'(?:[^"]{1,4096}+|%s|(?<=%s)"){1,256}+' % (field, begins))
    at, released = 0, 0
    while (match := some.match(body, at)) is not None:
        at = match.end()
        if at - released > _RELEASED_AFTER:
            release()
            released = at
    return at == len(body)
