"""Reads a payload in the format that is asked for, and says which one it looks like if that cannot be."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import pyarrow as pa

from burnish.data.codecs.answers import order_answers
from burnish.data.codecs.columns import ColumnSpec, FormatName
from burnish.data.codecs.convert import Unfit, from_base64
from burnish.data.codecs.csv_rows import Csv
from burnish.data.codecs.decoded import DEFAULT_LIMITS, DecodedRows, Limits, MissingColumns, explain_errors
from burnish.data.codecs.example import Examples, WireError, parse_example
from burnish.data.codecs.json_rows import Json, JsonLines, Squad
from burnish.data.codecs.tfrecord import is_tfrecord
from burnish.errors import ConfigError, DataError, MissingExtra, Problem
from burnish.registry import default_registry
from burnish.spec.row_format import RowFormat

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_LOOKED_AT = 1 << 16
_ALIKE = ({"csv", "csv_rows"}, {"json", "json_lists"}, {"json", "squad"})


class RowCodec(Protocol):
    """One way to write rows, and the answers to them."""

    def decode(self, payload: bytes, columns: Sequence[ColumnSpec], *, limits: Limits = DEFAULT_LIMITS) -> DecodedRows:
        """Read rows; raise DataError only if the payload as a whole cannot be read."""
        ...

    def encode(self, rows: DecodedRows, answers: pa.Table) -> bytes:
        """Write answers, one row of the table for each good row, with the errors in their places."""
        ...


CODECS: Mapping[FormatName, RowCodec] = {
    "json": Json(),
    "jsonl": JsonLines(),
    "json_lists": Json(are_lists=True),
    "csv": Csv(),
    "csv_rows": Csv(has_header=False),
    "example": Examples(),
    "squad": Squad(),
}


@dataclass(frozen=True)
class OwnFormat:
    """A format of the user as a codec: its rows are checked and converted as those of JSON are."""

    format: RowFormat

    def decode(self, payload: bytes, columns: Sequence[ColumnSpec], *, limits: Limits = DEFAULT_LIMITS) -> DecodedRows:
        """Let the format read rows; whatever it raises is about the payload."""
        try:
            rows = [dict(row) for row in self.format.decode(payload)]
        except Exception as error:  # code of a user may fail in any way
            name = type(self.format).__name__
            raise DataError(f"the payload cannot be read by {name}: {type(error).__name__}: {error}") from error
        limits.check_rows(len(rows))
        return Json().gather(rows, columns)

    def encode(self, rows: DecodedRows, answers: pa.Table) -> bytes:
        """Let the format write the answers."""
        return self.format.encode(order_answers(rows, answers))


def find_codec(format: str) -> RowCodec:
    """Find a format by its name, or one of the user's by the name a package gives it or by its address."""
    if format in CODECS:
        return CODECS[cast(FormatName, format)]
    registry = default_registry()
    if not registry.knows("formats", format):
        names = [*CODECS, *(each.name for each in registry.names("formats"))]
        sentence = (
            f"no format is called `{format}`. There are {', '.join(names)}. A format of your own is given by its "
            "address, module:Class"
        )
        raise ConfigError([Problem(sentence)], subject="the command line")
    return OwnFormat(cast(RowFormat, registry.load("formats", format)()))


def decode(
    payload: bytes, columns: Sequence[ColumnSpec], *, format: str, limits: Limits = DEFAULT_LIMITS
) -> DecodedRows:
    """Read the rows of a payload; what is wrong with single rows is in the result."""
    limits.check(payload)
    try:
        rows = find_codec(format).decode(payload, columns, limits=limits)
    except MissingColumns:
        raise
    except DataError as error:
        hint = _hint(payload, format)
        raise (DataError(f"{error}{hint}") if hint else error) from error
    if rows.lacks_given:
        return rows  # its names were read, so this is the format
    if rows.errors and not len(rows.table) and (hint := _hint(payload, format)):
        raise DataError(f"{explain_errors(rows.errors, num_rows=rows.num_rows)}{hint}")
    return rows


def encode(rows: DecodedRows, answers: pa.Table, *, format: str) -> bytes:
    """Write the answers to rows, in the form that goes with the format of the rows."""
    return find_codec(format).encode(rows, answers)


def beside(rows: DecodedRows, answers: pa.Table, *, format: str) -> Mapping[str, bytes]:
    """Write what a format puts into files of its own beside the answers, by name; most have nothing such."""
    codec = find_codec(format)
    return codec.beside(rows, answers) if isinstance(codec, Squad) else {}


def looks_like(payload: bytes) -> FormatName | None:
    """Guess the format of bytes by how they begin; None if they tell nothing."""
    start = payload[:_LOOKED_AT].removeprefix(b"\xef\xbb\xbf")
    stripped = start.lstrip()
    if _is_record(start):
        return "example"
    if stripped.startswith((b"{", b"[")):
        first, _, rest = stripped.partition(b"\n")
        if rest.lstrip().startswith((b"{", b"[")) and _is_json(first):
            return "jsonl"
        return "json_lists" if re.match(rb"\[\s*\[", stripped) else "json"
    if _CONTROL.search(start) or _is_example(stripped.split(b"\n", 1)[0]):
        return "example"
    return "csv" if b"," in start else None


def _hint(payload: bytes, format: str) -> str:
    guess = looks_like(payload) if format in CODECS else None
    if guess is None or guess == format or {guess, format} in _ALIKE:
        return ""
    return f"\n  it was read as `{format}`, and it looks like `{guess}`"


def _is_record(start: bytes) -> bool:
    try:
        return is_tfrecord(start)
    except MissingExtra:  # a guess is no reason to ask for it
        return False


def _is_example(line: bytes) -> bool:
    try:
        return bool(parse_example(from_base64(line.decode())))
    except (Unfit, WireError, UnicodeDecodeError, MissingExtra):
        return False


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True
