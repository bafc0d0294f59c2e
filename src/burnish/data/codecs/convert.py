"""Turns values as they were sent into columns of one type: whole columns at once, one by one where that fails."""

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.codecs.columns import ColumnSpec, Kind
from burnish.data.columns.parse_columns import (
    FALSE,
    MISSING,
    TRUE,
    ParsedNumbers,
    parse_flags,
    parse_times,
    strip_marks,
)
from burnish.errors import DataError

WORD = re.compile(r"\w+(?:[-.,:/@]\w+)*|[^\w\s]")
"""A run of letters and digits, joined marks within it kept; every other mark is a word of its own."""
_OF_TEXT: tuple[Kind, ...] = ("text", "flag", "time", "words", "texts")
TYPES: Mapping[Kind, pa.DataType] = {
    **{"number": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_()},
    **dict.fromkeys(_OF_TEXT, pa.string()),
}
"""What a column is made of; words and texts are lists of these where any row gives a list."""
_RIGHT: Mapping[Kind, str] = {
    "number": "expected a number like 12.5",
    "integer": "expected a whole number like 12",
    "boolean": "expected true or false",
    "text": "expected text",
    "flag": "expected yes or no",
    "time": "expected a date or time like 2024-03-01 18:30",
    "words": 'expected text, or a list of words like ["a", "word"]',
    "texts": 'expected a list of texts like ["one", "two"]',
}
MAY_BE_LISTS: Mapping[Kind, Callable[[str], list[str]]] = {"words": WORD.findall, "texts": lambda text: [text]}
"""Kinds that may be lists, and the items of a text."""
TEXT_OR_WORDS = pa.struct([("text", pa.string()), ("words", pa.list_(pa.string()))])
"""A column of words in which some rows are texts and others lists; a text stays whole, so that its words keep their
places."""
_BLANK = " \t\r\n\f\v"
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?i:inf|infinity)"
_INTEGER = r"([+-]?[0-9]+)(?:\.0*)?"
_WORDS = {**dict.fromkeys(TRUE, True), **dict.fromkeys(FALSE, False)}
_SHOWN = 40


@dataclass(frozen=True)
class Converted:
    """A column, null where a value is missing or faulty, and the faults by position."""

    array: pa.Array
    faults: Mapping[int, str] = field(default_factory=dict)


IS_MISSING = "is missing"
IS_NEVER_MISSING = f"{IS_MISSING} and every training row had it"


class Unfit(ValueError):
    """Say what is wrong with a value."""


def from_values(values: Sequence[Any], spec: ColumnSpec) -> Converted:
    """Convert values of any kind: JSON's, or those of an Example."""
    return _check(_from_values(values, spec), spec)


def _from_values(values: Sequence[Any], spec: ColumnSpec) -> Converted:
    types = set(map(type, values)) - {type(None)}
    if spec.kind == "words" and list in types and len(types) > 1:
        return _each(values, _text_or_words, TEXT_OR_WORDS)
    if list in types and spec.kind in MAY_BE_LISTS:
        return _each(values, partial(_list, kind=spec.kind), pa.list_(pa.string()))
    if types == {str} and TYPES[spec.kind] != pa.string():
        try:
            return _from_texts(pa.array(values, pa.string()), spec)
        except UnicodeEncodeError:
            return _one_by_one(values, spec)
    if types <= _NATURAL[spec.kind]:
        try:
            array = pa.array(values, TYPES[spec.kind])
            return Converted(pc.if_else(pc.is_nan(array), None, array) if pa.types.is_floating(array.type) else array)
        except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
            pass  # one value is too large or no text: find out which
    return _one_by_one(values, spec)


def from_cells(cells: pa.ChunkedArray, spec: ColumnSpec) -> Converted:
    """Convert cells of a CSV file: an empty one is a missing value, but an empty text where a text must be given."""
    whole = cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells
    if TYPES[spec.kind] != pa.string():
        return _from_texts(whole, spec)
    return _check(Converted(whole if spec.must_be_given else pc.if_else(pc.equal(whole, ""), None, whole)), spec)


def _check(converted: Converted, spec: ColumnSpec) -> Converted:
    """Refuse texts that are not what they must be readable as."""
    if spec.kind not in _READINGS:
        return converted
    read, what = _READINGS[spec.kind]
    how = {name: spec.facts[name] for name in _DATE_READING if name in spec.facts} if spec.kind == "time" else {}
    wrong = np.flatnonzero(read(converted.array, **how).is_wrong).tolist()
    texts = zip(wrong, converted.array.take(pa.array(wrong, pa.int64())).to_pylist(), strict=True)
    faults = {at: f"{describe(text)} is {what}; {_RIGHT[spec.kind]}" for at, text in texts}
    return Converted(converted.array, {**faults, **converted.faults})


def settle_missing(converted: Converted, spec: ColumnSpec) -> Converted:
    """Put the default in the place of missing values, or refuse them if there must be one."""
    array, faults = converted.array, converted.faults
    if spec.default is not None:
        filled = pc.fill_null(array, _default(spec)) if array.null_count else array
        return Converted(filled, faults)  # faulty rows are dropped, whatever they hold
    if spec.must_be_given:
        missing, what = array.is_null(), f"{IS_MISSING} and has no default"
    elif spec.always_given:
        missing, what = is_missing(array), IS_NEVER_MISSING
    else:
        return converted
    rows = pc.indices_nonzero(missing).to_pylist()
    sentence = f"{what}; {_RIGHT[spec.kind]}"
    return Converted(array, {**{at: sentence for at in rows if at not in faults}, **faults})


def is_missing(array: pa.Array) -> pa.Array:
    """Tell where there is no value: nothing at all, or a text that stands for none."""
    if not pa.types.is_string(array.type):
        return array.is_null(nan_is_null=True)
    words = pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(array)), value_set=pa.array(MISSING))
    return pc.or_(array.is_null(), words)


def describe(value: object) -> str:
    """Show a value as it was written, shortened."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = repr(value) if isinstance(value, str | bytes) else json.dumps(value, default=str)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def unwrap(value: object) -> object:
    """Unwrap the bytes inside {"b64": "…"}, and any other value as it is."""
    if isinstance(value, dict) and set(value) == {"b64"} and isinstance(value["b64"], str):
        return from_base64(value["b64"])
    return value


def from_base64(text: str) -> bytes:
    """Decode base64 of either alphabet, with or without padding."""
    standard = text.strip(_BLANK).translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Unfit(f"{describe(text)} is not base64") from error


def _from_texts(texts: pa.Array, spec: ColumnSpec) -> Converted:
    if _fits(texts, spec.kind):
        return _cast(texts, spec)
    if spec.kind in ("number", "integer"):
        bare = strip_marks(texts)
        if _fits(bare, spec.kind):
            return _cast(bare, spec)
    return _one_by_one(texts.to_pylist(), spec)


def _fits(texts: pa.Array, kind: Kind) -> bool:
    """Tell whether all texts are numbers in the plainest form, which can be cast at once."""
    pattern = {"number": f"^(?:{_NUMBER}|)$", "integer": "^(?:-?[0-9]{1,18}|)$"}.get(kind)
    return pattern is not None and pc.all(pc.match_substring_regex(texts, pattern)).as_py() is not False


def _cast(texts: pa.Array, spec: ColumnSpec) -> Converted:
    return Converted(pc.if_else(pc.equal(texts, ""), None, texts).cast(TYPES[spec.kind]))


def _one_by_one(values: Sequence[Any], spec: ColumnSpec) -> Converted:
    return _each(values, _CONVERTERS[spec.kind], TYPES[spec.kind])


def _each(values: Sequence[Any], convert: Callable[[object], Any], kind: pa.DataType) -> Converted:
    found: list[Any] = []
    faults: dict[int, str] = {}
    for at, value in enumerate(values):
        try:
            found.append(None if value is None else convert(_plain(value)))
        except Unfit as error:
            found.append(None)
            faults[at] = str(error)
    return Converted(pa.array(found, kind), faults)


def _plain(value: object) -> object:
    value = unwrap(value)
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise Unfit(f"{describe(value)} are bytes that are not UTF-8; expected text in UTF-8") from error


def _number(value: object) -> float | None:
    if isinstance(value, str):
        text = _bare(value)
        if text.lower() in MISSING:
            return None
        if re.fullmatch(_NUMBER, text):
            return float(text)
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError as error:
            raise Unfit(f"{describe(value)} is too large for a number; expected at most 1.8e308") from error
        return None if math.isnan(number) else number  # a missing value
    raise Unfit(f"{describe(value)} is not a number; {_RIGHT['number']}")


def _bare(value: str) -> str:
    text = value.strip(_BLANK)
    if re.fullmatch(_NUMBER, text):  # most numbers are plain
        return text
    try:
        return str(strip_marks(pa.array([text]))[0].as_py())
    except UnicodeEncodeError:
        return text


def _integer(value: object) -> int | None:
    found: int | None = None
    if isinstance(value, str):
        text = _bare(value)
        if text.lower() in MISSING:
            return None
        match = re.fullmatch(_INTEGER, text)
        found = int(match[1]) if match and len(match[1]) < _SHOWN else None
    elif isinstance(value, float) and math.isnan(value):
        return None
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found = int(value) if isinstance(value, int) or value.is_integer() else None
    if found is None or not -(1 << 63) <= found < 1 << 63:
        what = "not a whole number" if found is None else "beyond 64 bits"
        raise Unfit(f"{describe(value)} is {what}; {_RIGHT['integer']}")
    return found


def _boolean(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    if isinstance(value, str):
        word = value.strip(_BLANK).lower()
        if word in MISSING:
            return None
        if word in _WORDS:
            return _WORDS[word]
    raise Unfit(f"{describe(value)} is neither true nor false; {_RIGHT['boolean']}")


def _text(value: object) -> str:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise Unfit("contains half of a surrogate pair, which is not a character") from error
        return value
    if isinstance(value, int | float):  # as a CSV file would hold it
        return json.dumps(value)
    raise Unfit(f"{describe(value)} is not text; {_RIGHT['text']}")


def _list(value: object, *, kind: Kind) -> list[str]:
    if isinstance(value, list):
        wrong = [at for at, each in enumerate(value, start=1) if not isinstance(each, str | int | float)]
        if wrong or not value:
            what = f"item {wrong[0]} of the list is {describe(value[wrong[0] - 1])}" if wrong else "an empty list"
            raise Unfit(f"{what}; {_RIGHT[kind]}")
        return [_text(each) for each in value]
    return MAY_BE_LISTS[kind](_text(value))


def _text_or_words(value: object) -> dict[str, Any]:
    if isinstance(value, list):
        return {"words": _list(value, kind="words")}
    return {"text": _text(value)}


def _default(spec: ColumnSpec) -> pa.Scalar:
    try:
        return pa.scalar(_CONVERTERS[spec.kind](spec.default), TYPES[spec.kind])
    except Unfit as error:
        raise DataError(f"the default of column `{spec.name}` does not fit: {error}") from error


_CONVERTERS: Mapping[Kind, Callable[[object], Any]] = {
    **{"number": _number, "integer": _integer, "boolean": _boolean},
    **dict.fromkeys(_OF_TEXT, _text),
}
_TEXTS: set[type] = {str}
_NATURAL: Mapping[Kind, set[type]] = {
    **{"number": {int, float}, "integer": {int}, "boolean": {bool}},
    **dict.fromkeys(_OF_TEXT, _TEXTS),
}
_DATE_READING = ("day_first", "compact")
"""The facts of a column of dates that say how they are written."""
_READINGS: Mapping[Kind, tuple[Callable[..., ParsedNumbers], str]] = {
    "flag": (parse_flags, "neither yes nor no"),
    "time": (parse_times, "not a date or time"),
}
