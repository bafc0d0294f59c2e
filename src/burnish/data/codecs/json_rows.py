"""Rows as JSON: objects by name, lists in the order of the columns, one document or one row a line."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from burnish.data.codecs.answers import as_json, as_json_lines
from burnish.data.codecs.columns import ColumnSpec, cell_names
from burnish.data.codecs.convert import Unfit, described, unwrapped
from burnish.data.codecs.decoded import DecodedRows
from burnish.data.codecs.example_values import example_row
from burnish.data.codecs.gather import gather
from burnish.data.codecs.payload import DEFAULT_LIMITS, Limits, text_of
from burnish.data.readers.json_text import parse_json
from burnish.errors import DataError

_ENVELOPE = "instances"


@dataclass(frozen=True)
class Json:
    """One document: a list of rows, one row, or {"instances": [rows]}."""

    are_lists: bool = False
    """Whether every row must be a list of values."""

    def decode(self, payload: bytes, columns: Sequence[ColumnSpec], *, limits: Limits = DEFAULT_LIMITS) -> DecodedRows:
        """Read all rows of a document."""
        document = parse_document(text_of(payload))
        rows = _rows(document, columns)
        limits.check_rows(len(rows))
        return gather(rows, columns, read=partial(_listed if self.are_lists else _named, columns=columns))

    def encode(self, rows: DecodedRows, answers: pa.Table) -> bytes:
        """Write {"predictions": [...]}, an answer or an error for each row."""
        return as_json(rows, answers)


@dataclass(frozen=True)
class JsonLines:
    """One row a line; blank lines are passed over."""

    def decode(self, payload: bytes, columns: Sequence[ColumnSpec], *, limits: Limits = DEFAULT_LIMITS) -> DecodedRows:
        """Read the row of each line."""
        limits.check_rows(payload.count(b"\n"), what="lines")
        texts = text_of(payload).split("\n")
        lines = [line for line, text in enumerate(texts, start=1) if text.strip()]
        return gather(
            [_one(texts[line - 1]) for line in lines], columns, read=partial(_named, columns=columns), lines=lines
        )

    def encode(self, rows: DecodedRows, answers: pa.Table) -> bytes:
        """Write one answer or error a line."""
        return as_json_lines(rows, answers)


@dataclass(frozen=True)
class _Broken:
    """Stand for a row or a value that JSON allows, or nearly, and that says nothing."""

    why: str


def parse_document(text: str) -> Any:
    """Read one JSON document; refuse what is none, by line and column."""
    try:
        return parse_json(text, pairs=_object)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise DataError(f"the payload is not JSON: {error.msg} at {place}") from error
    except ValueError as error:
        raise DataError(f"the payload {error}") from error


def _one(text: str) -> Any:
    try:
        return parse_json(text, pairs=_object)
    except json.JSONDecodeError as error:
        return _Broken(f"is not JSON: {error.msg} at column {error.colno}")
    except ValueError as error:
        return _Broken(str(error))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Broken:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    twin = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]  # add gives None
    return _Broken(f"gives `{twin}` more than once")


def _rows(document: Any, columns: Sequence[ColumnSpec]) -> Sequence[Any]:
    if isinstance(document, list):
        return document
    if not isinstance(document, dict | _Broken):
        raise DataError(f"the payload is {described(document)}, where a list of rows is expected")
    names = {spec.name for spec in columns}
    if isinstance(document, _Broken) or _ENVELOPE not in document or _ENVELOPE in names:
        return [document]
    instances = document[_ENVELOPE]
    if not isinstance(instances, list):
        raise DataError(f"`{_ENVELOPE}` is {_shown(instances)}, where a list of rows is expected")
    return instances


def _named(row: Any, names: Sequence[str], *, columns: Sequence[ColumnSpec]) -> Mapping[str, Any]:
    if isinstance(row, dict):
        return _from_object(row, names)
    if isinstance(row, str | int | float) and len(names) == 1:
        return {names[0]: row}
    if isinstance(row, list | _Broken):
        return _listed(row, names, columns=columns)
    raise Unfit(f'is {_shown(row)}, where an object like {{"{names[0]}": …}} is expected')


def _listed(row: Any, _names: Sequence[str], *, columns: Sequence[ColumnSpec]) -> Mapping[str, Any]:
    if isinstance(row, _Broken):
        raise Unfit(row.why)
    if not isinstance(row, list):
        raise Unfit(f"is {_shown(row)}, where a list of values in the order of the columns is expected")
    cells = cell_names(columns)
    if len(row) != len(cells):
        raise Unfit(f"has {len(row)} value{'s' * (len(row) != 1)} where {len(cells)} are expected: {', '.join(cells)}")
    return _sound(dict(zip(cells, row, strict=True)))


def _from_object(row: dict[str, Any], names: Sequence[str]) -> Mapping[str, Any]:
    if set(row) == {"b64"} and "b64" not in names:
        data = unwrapped(row)
        assert isinstance(data, bytes | dict)
        if isinstance(data, bytes):
            return example_row(data, names)
    return _sound(row)


def _sound(row: dict[str, Any]) -> Mapping[str, Any]:
    twins = [f"`{name}` {value.why}" for name, value in row.items() if isinstance(value, _Broken)]
    if twins:
        raise Unfit("; ".join(twins))
    return row


def _shown(value: Any) -> str:
    return "null" if value is None else described(value)
