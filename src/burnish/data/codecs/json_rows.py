"""Rows as JSON, by name or in the order of the columns: one document, one row a line, or SQuAD's articles."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from burnish.data.codecs.answers import as_json_lines, dump_json, order_answers
from burnish.data.codecs.columns import ColumnSpec, cell_names
from burnish.data.codecs.convert import Unfit, describe, unwrap
from burnish.data.codecs.decoded import DEFAULT_LIMITS, NAME, DecodedRows, Limits, decode_text, gather
from burnish.data.codecs.example import example_row
from burnish.data.readers.read_json import parse_json
from burnish.data.readers.read_squad import Misshapen, find_questions
from burnish.errors import DataError

_ENVELOPE = "instances"
_READ = ("id", "question", "context")
_OPEN = "no_answer_probability"


@dataclass(frozen=True)
class Json:
    """One document: a list of rows, one row, or {"instances": [rows]}."""

    are_lists: bool = False
    """Whether every row must be a list of values."""

    def decode(self, payload: bytes, columns: Sequence[ColumnSpec], *, limits: Limits = DEFAULT_LIMITS) -> DecodedRows:
        """Read all rows of a document."""
        return self.gather(self.read(payload, columns, limits=limits), columns)

    def read(self, payload: bytes, columns: Sequence[ColumnSpec], *, limits: Limits = DEFAULT_LIMITS) -> Sequence[Any]:
        """Parse a document into its rows, of which nothing is known yet."""
        rows = _rows(parse_document(decode_text(payload)), columns)
        limits.check_rows(len(rows))
        return rows

    def gather(self, rows: Sequence[Any], columns: Sequence[ColumnSpec]) -> DecodedRows:
        """Put parsed rows, also those of several documents, into columns."""
        return gather(rows, columns, read=partial(_read_listed if self.are_lists else _read_named, columns=columns))

    def encode(self, rows: DecodedRows, answers: pa.Table) -> bytes:
        """Write {"predictions": [...]}, an answer or an error for each row."""
        return (dump_json({"predictions": order_answers(rows, answers)}) + "\n").encode()


@dataclass(frozen=True)
class JsonLines:
    """One row a line; blank lines are passed over."""

    def decode(self, payload: bytes, columns: Sequence[ColumnSpec], *, limits: Limits = DEFAULT_LIMITS) -> DecodedRows:
        """Read the row of each line."""
        limits.check_rows(payload.count(b"\n"), what="lines")
        texts = decode_text(payload).split("\n")
        lines = [line for line, text in enumerate(texts, start=1) if text.strip()]
        return gather(
            [_one(texts[line - 1]) for line in lines], columns, read=partial(_read_named, columns=columns), lines=lines
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
        raise DataError(f"the payload is {describe(document)}, where a list of rows is expected")
    names = {spec.name for spec in columns}
    if isinstance(document, _Broken) or _ENVELOPE not in document or _ENVELOPE in names:
        return [document]
    instances = document[_ENVELOPE]
    if not isinstance(instances, list):
        raise DataError(f"`{_ENVELOPE}` is {_show(instances)}, where a list of rows is expected")
    return instances


def _read_named(row: Any, names: Sequence[str], *, columns: Sequence[ColumnSpec]) -> Mapping[str, Any]:
    if isinstance(row, dict):
        if len(row) == 1 and "b64" in row and "b64" not in names:
            data = unwrap(row)
            assert isinstance(data, bytes | dict)
            if isinstance(data, bytes):
                return example_row(data, names)
        return _sound(row)
    if isinstance(row, str | int | float) and len(names) == 1:
        return {names[0]: row}
    if isinstance(row, list | _Broken):
        return _read_listed(row, names, columns=columns)
    raise Unfit(f'is {_show(row)}, where an object like {{"{names[0]}": …}} is expected')


def _read_listed(row: Any, _names: Sequence[str], *, columns: Sequence[ColumnSpec]) -> Mapping[str, Any]:
    if isinstance(row, _Broken):
        raise Unfit(row.why)
    if not isinstance(row, list):
        raise Unfit(f"is {_show(row)}, where a list of values in the order of the columns is expected")
    cells = cell_names(columns)
    if len(row) != len(cells):
        raise Unfit(f"has {len(row)} value{'s' * (len(row) != 1)} where {len(cells)} are expected: {', '.join(cells)}")
    return _sound(dict(zip(cells, row, strict=True)))


def _sound(row: dict[str, Any]) -> Mapping[str, Any]:
    if _Broken in set(map(type, row.values())):
        raise Unfit("; ".join(f"`{name}` {value.why}" for name, value in row.items() if isinstance(value, _Broken)))
    return row


def _show(value: Any) -> str:
    return "null" if value is None else describe(value)


@dataclass(frozen=True)
class Squad:
    """One document of articles, paragraphs and questions; right answers in it are not looked at."""

    def decode(self, payload: bytes, columns: Sequence[ColumnSpec], *, limits: Limits = DEFAULT_LIMITS) -> DecodedRows:
        """Read all questions."""
        found = list(find_questions(parse_document(decode_text(payload)), name=NAME))
        limits.check_rows(len(found))
        return gather(found, columns, read=_question)

    def encode(self, rows: DecodedRows, answers: pa.Table) -> bytes:
        """Write {id: answer}; a question that was bad has none."""
        return _write_document(_by_id(rows, answers, answers["predicted"].to_pylist()))

    def beside(self, rows: DecodedRows, answers: pa.Table) -> Mapping[str, bytes]:
        """Write the next best answers and, where a question may be open, the odds that it is, as files of their own."""
        files: dict[str, bytes] = {}
        if "n_best" in answers.column_names:
            files["nbest_predictions.json"] = _write_document(_by_id(rows, answers, _n_best(answers)))
        if "null_odds" in answers.column_names:
            files["null_odds.json"] = _write_document(_by_id(rows, answers, answers["null_odds"].to_pylist()))
        return files


def _question(found: Mapping[str, Any] | Misshapen, _names: Sequence[str]) -> Mapping[str, Any]:
    if isinstance(found, Misshapen):
        raise Unfit(str(found))
    return {name: found[name] for name in _READ}


def _by_id(rows: DecodedRows, answers: pa.Table, values: Sequence[Any]) -> dict[str, Any]:
    ids = answers["id"].to_pylist() if "id" in answers.column_names else map(str, rows.numbers.tolist())
    return dict(zip(ids, values, strict=True))


def _n_best(answers: pa.Table) -> list[list[dict[str, Any]]]:
    """List the answers to each question, best first; no answer is among them where that may be."""
    found = answers["n_best"].to_pylist()
    lists = [[{name: each[name] for name in ("text", "probability", "logit")} for each in entries] for entries in found]
    if _OPEN not in answers.column_names:
        return lists
    shares = answers[_OPEN].to_pylist()
    for entries, share in zip(lists, shares, strict=True):
        if share is not None:
            entries.append({"text": "", "probability": share})
            entries.sort(key=lambda entry: -entry["probability"])
    return lists


def _write_document(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()
