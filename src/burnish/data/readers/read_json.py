"""Reads JSON lines and JSON documents: fast at first, exactly where that fails; refuses what would exhaust a parser."""

import json
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from burnish.data.inspection.faults import BadRow
from burnish.data.readers.encoding import NotUtf8
from burnish.data.readers.open_file import count, is_utf8, text_body
from burnish.data.readers.read_squad import is_squad, read_squad
from burnish.data.readers.scan import decode_lossy, lost_byte
from burnish.data.rows import from_file
from burnish.errors import DataError
from burnish.spec.values import Rows

_BLOCK = 1 << 24
_LARGEST_BLOCK = (1 << 31) - 1
_BLANK = b" \t\r\n"
_SHOWN = 2000
MAX_DEPTH = 100
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|([\[{])|[\]}]')


def read_json_lines(buffer: pa.Buffer, *, name: str) -> tuple[Rows, list[BadRow]]:
    """Read a file with one object a line, and the lines that hold none."""
    body = text_body(buffer, name=name)
    table = parse_objects(body)
    if table is not None:
        return from_file(table, name=name, first_line=1), []
    return _exact(body, name=name)


def read_json(buffer: pa.Buffer, *, name: str, layout: str | None = None) -> tuple[Rows, list[BadRow]]:
    """Read a document: a list of objects, one under a key, columns, JSON lines, or SQuAD's articles."""
    body = text_body(buffer, name=name)
    data = body.to_pybytes()
    if layout is None and _is_lines(data):
        return read_json_lines(buffer, name=name)
    document = _parse_document(data, name=name)
    if layout == "squad" or is_squad(document):
        return read_squad(document, name=name)
    try:
        _refuse_half_characters(document, written=data)
    except ValueError as error:
        raise DataError(f"{name}: {error}") from error
    return from_file(_document_table(document, name=name), name=name, first_line=0), []


def _parse_document(data: bytes, *, name: str) -> object:
    try:
        return parse_json(data.decode(), pairs=distinct_keys)
    except UnicodeDecodeError as error:
        line_number = data.count(b"\n", 0, error.start) + 1
        text = decode_lossy(data)
        raise NotUtf8(f"{name}:{line_number}: {lost_byte(text)}", text) from error
    except ValueError as error:
        line = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise DataError(f"{name}{line}: {_reason(error)}") from error


def parse_objects(body: pa.Buffer, *, kinds: pa.Schema | None = None) -> pa.Table | None:
    """Parse the objects of some lines, of the kinds given or found; None if only the exact way can read them."""
    ends = body[body.size - 1 :].to_pybytes() == b"\n"
    num_lines = count(body, b"\n") + (not ends)
    opened = count(body, b"\n{") + (body[:1].to_pybytes() == b"{")
    # Every line must open an object: a bare null crashes the fast parser.
    if opened != num_lines or not is_utf8(body) or has_deep_line(body, num_lines=num_lines):
        return None
    try:
        table = _parse(body) if kinds is None else _parse_as(body, kinds)
    except pa.ArrowInvalid:
        return None
    return table if table.num_rows == num_lines and not _has_lost_digits(table) else None


def _parse(body: pa.Buffer) -> pa.Table:
    table = pa.json.read_json(pa.BufferReader(body), read_options=_in_blocks(body))
    schema = pa.schema([pa.field(field.name, _without_dates(field.type)) for field in table.schema])
    # text that looks like a date was taken for one
    return table if schema.equals(table.schema) else _parse_as(body, schema)


def _parse_as(body: pa.Buffer, schema: pa.Schema) -> pa.Table:
    parse = pa.json.ParseOptions(explicit_schema=schema)
    return pa.json.read_json(pa.BufferReader(body), read_options=_in_blocks(body), parse_options=parse)


def _in_blocks(body: pa.Buffer) -> pa.json.ReadOptions:
    return pa.json.ReadOptions(block_size=min(max(_BLOCK, body.size // 64), _LARGEST_BLOCK))


def _without_dates(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_without_dates(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _without_dates(field.type)) for field in kind])
    return kind


def _has_lost_digits(table: pa.Table) -> bool:
    floats = [column for column in table.columns if pa.types.is_floating(column.type)]
    tops = [pc.max(pc.abs(column)).as_py() for column in floats]
    return any(top is not None and top >= 2**53 for top in tops)  # a whole number too long for a float became one


def _exact(body: pa.Buffer, *, name: str) -> tuple[Rows, list[BadRow]]:
    objects: list[dict[str, Any]] = []
    lines: list[int] = []
    bad: list[BadRow] = []
    for line, text in enumerate(decode_lossy(body.to_pybytes()).split("\n"), start=1):
        if not text.strip():
            continue
        try:
            lost = lost_byte(text)
            if lost:
                raise ValueError(lost)
            value = parse_json(text, pairs=distinct_keys)
            if not isinstance(value, dict):
                raise ValueError(f'holds {_kind(value)} where an object like {{"text": …}} is expected')
            _refuse_half_characters(value, written=text.encode())
            objects.append(value)
            lines.append(line - 1)
        except ValueError as error:
            bad.append(BadRow(name, line, _reason(error), text[:_SHOWN]))
    if not objects and not bad:
        raise DataError(f"{name} is empty")
    return from_file(_table(objects), name=name, first_line=1, numbers=np.array(lines, dtype=np.int64)), bad


def _refuse_half_characters(value: object, *, written: bytes) -> None:
    if b"\\ud" not in written.lower():
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError("contains half of a surrogate pair, which is not a character") from error


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"is not JSON: {error.msg} at column {error.colno}"
    return str(error)


def _kind(value: object) -> str:
    names = {list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")


def _is_lines(data: bytes) -> bool:
    start = data.lstrip(_BLANK)
    if not start.startswith(b"{"):
        return False
    first, _, rest = start.partition(b"\n")
    if not rest.strip(_BLANK):
        return not _holds_list(first)
    try:
        parse_json(first.decode())
    except ValueError as error:  # a row that is JSON and of no use is told by its line
        return not isinstance(error, json.JSONDecodeError | UnicodeDecodeError)
    return True


def _holds_list(data: bytes) -> bool:
    # a document on one line: {"data": [{…}, …]} is a table, {"text": "…"} is a single row
    try:
        value = parse_json(data.decode())
    except ValueError:
        return True
    parts = list(value.values()) if isinstance(value, dict) else []
    return all(isinstance(part, list) for part in parts) or any(map(_is_objects, parts))


def _is_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _document_table(document: object, *, name: str) -> pa.Table:
    if isinstance(document, dict):
        lists = {key: value for key, value in document.items() if isinstance(value, list)}
        tables = [value for value in lists.values() if _is_objects(value)]
        if len(tables) == 1:
            document = tables[0]
        elif lists and len(lists) == len(document) and len({len(value) for value in lists.values()}) == 1:
            return _refuse_empty(pa.table({key: build_column(value) for key, value in lists.items()}), name=name)
    if not isinstance(document, list):
        raise DataError(f"{name} holds no table: expected a list of objects, or one list of objects under a key")
    strangers = [at for at, row in enumerate(document, start=1) if not isinstance(row, dict)]
    if strangers:
        raise DataError(f"{name} row {strangers[0]} is {_kind(document[strangers[0] - 1])} where an object is expected")
    return _refuse_empty(_table(document), name=name)


def _refuse_empty(table: pa.Table, *, name: str) -> pa.Table:
    if table.num_rows == 0 or table.num_columns == 0:
        raise DataError(f"{name} holds no rows")
    return table


def _table(objects: list[dict[str, Any]]) -> pa.Table:
    names = list(dict.fromkeys(key for row in objects for key in row))
    return pa.table({name: build_column([row.get(name) for row in objects]) for name in names})


def parse_json(text: str, *, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Do as json.loads; a ValueError that is no JSONDecodeError says in words what no row may hold."""
    if text.count("[") + text.count("{") > MAX_DEPTH and _is_deep(text.encode(errors="surrogatepass")):
        raise ValueError(f"is nested too deeply; at most {MAX_DEPTH} levels are read")
    try:
        return _decoder(pairs).decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        if "integer string conversion" not in str(error):
            raise  # what `pairs` refused
        most = sys.get_int_max_str_digits()
        raise ValueError(f"has a number with too many digits; at most {most:,} are read") from error


@cache
def _decoder(pairs: Callable[[list[tuple[str, Any]]], Any] | None) -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=pairs)


def distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its pairs; raise ValueError if it has a key twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key `{twin}` is given more than once")
    return found


def build_column(values: list[Any]) -> pa.Array:
    """Put values into one column; numbers beside words all become text, as they would be in a CSV file."""
    # Beside fractions, whole numbers become floats, which not all of them survive.
    has_both = {int, float} <= set(map(type, values))
    if not (has_both and any(type(one) is int and abs(one) > 2**53 for one in values)):
        with suppress(pa.ArrowException, OverflowError):
            return pa.array(values)
    return pa.array([_as_text(value) for value in values], type=pa.string())


def _as_text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def has_deep_line(body: pa.Buffer, *, num_lines: int) -> bool:
    """Tell whether a line is nested too deeply; Arrow's parser would crash the process, not refuse it."""
    if count(body, b"{") + count(body, b"[") < num_lines + MAX_DEPTH:  # every line opens an object
        return False
    return any(map(_is_deep, body.to_pybytes().split(b"\n")))


def _is_deep(text: bytes) -> bool:
    if text.count(b"[") + text.count(b"{") <= MAX_DEPTH:
        return False
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += 1 if token[1] else -(token[0] in b"]}")
        if depth > MAX_DEPTH:
            return True
    return False
