"""Reads whole columns as text, numbers or times, as people write them: what is missing is told from what is wrong."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.columns.datetimes import CompactForm, parse_compact, parse_seconds
from burnish.errors import DataError
from burnish.spec.values import Array

MISSING = ("", "?", "na", "n/a", "#n/a", "<na>", "nan", "null", "none")
"""What stands for a missing value, in any case."""
STRAY_SHARE = 0.02
"""The share of a column's values that may be unreadable before it is taken for another kind of column."""
LARGEST = 1e150
"""What is beyond this cannot be squared and summed; a number is then as good as infinite."""
TRUE, FALSE = ("true", "1", "yes", "y", "t", "on"), ("false", "0", "no", "n", "f", "off")

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_PLAIN_NUMBER = r"^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$"
_INFINITE = r"(?i)^[+-]?inf(inity)?$"
_WHOLE = r"^([+-]?\d+)\.0+$"
EXACT = 2.0**53
"""Up to here a float holds every whole number."""
_BLANKS = " \u00a0\u202f"
_CURRENCY = r"(?:US\$|[$€£¥₹]|USD|EUR|GBP|CHF|JPY|CNY|SEK|NOK|DKK|PLN|CZK)"
_UNIT = rf"(?:{_CURRENCY}|%)"
_POINT_GROUPS = ",'\u2019\u00a0\u202f"
_COMMA_GROUPS = f".'\u2019{_BLANKS}"
_GAP = f"([0-9])['\u2019{_BLANKS}]([0-9])"
Decimal = Literal[".", ","]
_POINTED = r"^\s*[+-]?[0-9]*\.[0-9]+\s*$"


def is_number(text: str) -> bool:
    """Tell whether a single cell is a finite number, as `numbers` reads a column: `1_000` and `①` are none."""
    return re.fullmatch(_NUMBER, text.strip(), re.ASCII) is not None and math.isfinite(float(text))


@dataclass(frozen=True)
class Words:
    """A column as text: each row's place among the distinct values, or -1 where it is missing."""

    codes: "Array"
    values: pa.Array

    def lookup(self, numbers: "Array", *, missing: int) -> "Array":
        """Look up the number of each row's value."""
        return np.append(numbers, missing)[self.codes]


@dataclass(frozen=True)
class ParsedNumbers:
    """A column as float64: nan where a value is missing; `is_wrong` marks the rows that hold something else."""

    values: "Array"
    is_wrong: "Array"

    def fits(self, forgiven: float = STRAY_SHARE) -> bool:
        """Tell whether the given values could be read as what was asked for, but for a share of stray ones."""
        num_wrong = np.count_nonzero(self.is_wrong)
        return bool(num_wrong <= forgiven * (num_wrong + np.count_nonzero(~np.isnan(self.values))))


def parse_words(column: pa.ChunkedArray | pa.Array) -> Words:
    """Read a column as text: trimmed, and a whole number is written without a point, however it came."""
    encoded = _encode(column)
    texts = pc.utf8_trim_whitespace(_texts(encoded.dictionary))
    texts = pc.if_else(_is_missing(texts), pa.scalar(None, pa.string()), texts)
    texts = pc.replace_substring_regex(texts, pattern=_WHOLE, replacement=r"\1")
    codes = _codes(encoded)
    absent = np.append(texts.is_null().to_numpy(zero_copy_only=False), True)
    return Words(np.where(absent[codes], np.int32(-1), codes), texts)


def unify_words(texts: pa.Array) -> pa.Array:
    """Write a number as 7.5 and a flag as true, as JSON does: a file may have 7.50 and True; 007 is no number here."""
    lower = pc.utf8_lower(texts)
    numbers = pc.if_else(pc.match_substring_regex(texts, _PLAIN_NUMBER), texts, pa.scalar(None, pa.string()))
    words = pc.if_else(pc.is_in(lower, value_set=pa.array(["true", "false"])), lower, texts)
    return pc.coalesce(_texts(numbers.cast(pa.float64())), words)


def parse_flags(column: pa.ChunkedArray | pa.Array) -> ParsedNumbers:
    """Read a column of yes and no as 1 and 0."""
    read = parse_words(column)
    lowered = pc.utf8_lower(read.values)
    yes, no = (_fill_mask(pc.is_in(lowered, value_set=pa.array(names))) for names in (TRUE, FALSE))
    values = read.lookup(np.where(yes, 1.0, np.where(no, 0.0, np.nan)), missing=-1)
    return ParsedNumbers(np.where(read.codes < 0, np.nan, values), (read.codes >= 0) & np.isnan(values))


def parse_numbers(column: pa.ChunkedArray | pa.Array) -> ParsedNumbers:
    """Read a column as numbers."""
    if isinstance(column, pa.ChunkedArray) and column.num_chunks > 1 and pa.types.is_string(column.type):
        parts = [parse_numbers(chunk) for chunk in column.chunks]
        return ParsedNumbers(
            np.concatenate([part.values for part in parts]), np.concatenate([part.is_wrong for part in parts])
        )  # or all of its text would be copied at once
    whole = _whole(column)
    kind = whole.type
    if pa.types.is_null(kind):
        return ParsedNumbers(np.full(len(whole), np.nan), np.zeros(len(whole), bool))
    if pa.types.is_temporal(kind):
        return parse_times(whole)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _plain_numbers(whole) or _odd_numbers(whole)
    _refuse_nested(kind)
    values = pc.cast(whole, pa.float64(), safe=False) if not pa.types.is_boolean(kind) else whole.cast(pa.int8())
    return ParsedNumbers(_floats(values), np.zeros(len(whole), bool))


def parse_times(
    column: pa.ChunkedArray | pa.Array, *, day_first: bool = False, compact: CompactForm = ""
) -> ParsedNumbers:
    """Read a column as seconds since 1970, in UTC; numbers are such seconds already, or milliseconds if huge.

    With a compact form, numbers are dates in that form instead.
    """
    whole = _whole(column)
    if pa.types.is_date(whole.type) or pa.types.is_timestamp(whole.type):
        stamps = pc.cast(whole.cast(pa.timestamp("us", getattr(whole.type, "tz", None)), safe=False), pa.int64())
        return ParsedNumbers(_floats(pc.cast(stamps, pa.float64(), safe=False)) / 1e6, np.zeros(len(whole), bool))
    if not (pa.types.is_string(whole.type) or pa.types.is_large_string(whole.type)):
        read = parse_numbers(whole) if not pa.types.is_temporal(whole.type) else None
        if read is None:
            raise DataError(f"a column holds {whole.type}; a date or a time stamp is needed")
        return _numbers_as_times(read, compact)
    read = _numbers_as_times(_odd_numbers(whole), compact)
    encoded = _encode(whole)
    texts = pc.utf8_trim_whitespace(_texts(encoded.dictionary))
    stamps = np.append(parse_seconds(texts, day_first=day_first), np.nan)[_codes(encoded)]
    return ParsedNumbers(np.where(np.isnan(stamps), read.values, stamps), read.is_wrong & np.isnan(stamps))


def _numbers_as_times(read: ParsedNumbers, compact: CompactForm) -> ParsedNumbers:
    if not compact:
        return ParsedNumbers(np.where(np.abs(read.values) > 1e11, read.values / 1000, read.values), read.is_wrong)
    seconds = parse_compact(read.values, compact)
    return ParsedNumbers(seconds, read.is_wrong | (np.isnan(seconds) & ~np.isnan(read.values)))


def describe_cell(column: pa.ChunkedArray | pa.Array, row: int) -> str:
    """Write one cell for a message."""
    text = repr(column[row].as_py())
    return text if len(text) <= 60 else text[:59] + "…"


def _plain_numbers(texts: pa.Array) -> ParsedNumbers | None:
    """Read a column that holds numbers and empty cells only, which is most columns and the fast way."""
    blank = pc.equal(texts, "")
    filled = pc.if_else(blank, pa.scalar(None, texts.type), texts)
    try:
        values = _floats(pc.cast(filled, pa.float64()))
    except pa.ArrowInvalid:
        return None
    if np.count_nonzero(np.isnan(values)) > filled.null_count:
        return None  # Arrow also takes -nan and nan(1) for numbers, which are words wherever another cell is one
    return ParsedNumbers(values, np.zeros(len(values), bool))


def _odd_numbers(texts: pa.Array) -> ParsedNumbers:
    encoded = _encode(texts)
    distinct = pc.utf8_trim_whitespace(_texts(encoded.dictionary))
    missing = np.append(_fill_mask(_is_missing(distinct)), True)
    distinct = strip_marks(distinct)
    fits = pc.or_(pc.match_substring_regex(distinct, _NUMBER), pc.match_substring_regex(distinct, _INFINITE))
    unsigned = pc.replace_substring_regex(pc.utf8_lower(distinct), pattern=r"^\+", replacement="")
    parsed = pc.cast(pc.if_else(fits, unsigned, pa.scalar(None, pa.string())), pa.float64())
    values = np.append(_floats(parsed), np.nan)
    codes = _codes(encoded)
    return ParsedNumbers(values[codes], (np.isnan(values) & ~missing)[codes])


def _is_missing(texts: pa.Array) -> pa.Array:
    return pc.is_in(pc.utf8_lower(texts), value_set=pa.array(MISSING))


def _fill_mask(mask: pa.Array) -> "Array":
    return np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False))


def _floats(values: pa.Array) -> "Array":
    floats = np.array(values.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    is_huge = np.abs(floats) > LARGEST
    floats[is_huge] = np.copysign(np.inf, floats[is_huge])
    return floats


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):  # an empty column stays chunked
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
    return whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole


def _encode(column: pa.ChunkedArray | pa.Array) -> pa.DictionaryArray:
    whole = _whole(column)
    _refuse_nested(whole.type)
    return (whole.cast(pa.string()) if pa.types.is_null(whole.type) else whole).dictionary_encode()


def _codes(encoded: pa.DictionaryArray) -> "Array":
    return np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int32)


def _texts(values: pa.Array) -> pa.Array:
    if not pa.types.is_floating(values.type):
        return values.cast(pa.string())
    floats = _floats(values)
    is_whole = (np.round(floats) == floats) & (np.abs(floats) < EXACT)
    short = pa.array(np.where(is_whole, floats, 0).astype(np.int64)).cast(pa.string())
    return pc.if_else(pa.array(is_whole), short, values.cast(pa.string()))


def is_opaque(kind: pa.DataType) -> bool:
    """Tell whether a type is none that a cell of a table may have: bytes, lists, sections, spans of the calendar."""
    are = (pa.types.is_nested, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_interval)
    return any(is_it(kind) for is_it in are)


def _refuse_nested(kind: pa.DataType) -> None:
    if is_opaque(kind):
        raise DataError(f"a column holds {kind}; a table consists of single words, numbers and times")


def _pattern(groups: str, mark: str) -> str:
    """Build the pattern of a number with an optional unit before or after it; thousands come in groups of three."""
    whole = f"(?:[1-9][0-9]{{0,2}}(?:[{groups}][0-9]{{3}})+|[0-9]+)"
    number = f"(?:{whole}(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?"
    gap = f"[{_BLANKS}]*"
    return rf"^\s*(?:[+-]?{_CURRENCY}{gap}[+-]?{number}|[+-]?{number}(?:{gap}{_UNIT})?)\s*$"


_WITH_POINT, _WITH_COMMA = _pattern(_POINT_GROUPS, r"\."), _pattern(_COMMA_GROUPS, ",")


def strip_marks(texts: pa.Array) -> pa.Array:
    """Write a number like $1,234.50 or 12 % as 1234.50 or 12; every other text stays as it is."""
    is_number = pc.match_substring_regex(texts, _WITH_POINT)
    return _rewrite(texts, is_number, _bare)


def is_with_comma(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Tell which texts are numbers if a comma is the decimal mark."""
    return pc.match_substring_regex(texts, _WITH_COMMA)


def comma_to_point(texts: pa.Array) -> pa.Array:
    """Write a number like 1.234,50 as 1234.50, its unit kept; every other text stays as it is."""
    return _rewrite(texts, is_with_comma(texts), _write_points)


def _bare(texts: pa.Array) -> pa.Array:
    without_unit = pc.replace_substring_regex(texts, pattern=_UNIT, replacement="")
    return pc.replace_substring_regex(without_unit, pattern=rf"[{_POINT_GROUPS}\s]", replacement="")


def _write_points(texts: pa.Array) -> pa.Array:
    pointed = pc.replace_substring(
        pc.replace_substring(texts, pattern=".", replacement=""), pattern=",", replacement="."
    )
    if not pc.any(pc.match_substring_regex(pointed, _GAP)).as_py():  # rare, and slow to replace
        return pointed
    return pc.replace_substring_regex(pointed, pattern=_GAP, replacement=r"\1\2")


def _rewrite(texts: pa.Array, mask: pa.Array, rewrite: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Rewrite the texts where the mask is true, and look at no other: prose is long, and holds no number."""
    chosen = texts.filter(mask)
    return pc.replace_with_mask(texts, pc.fill_null(mask, False), rewrite(chosen)) if len(chosen) else texts


def write_points(table: pa.Table, *, name: str) -> pa.Table:
    """Write numbers with a decimal comma, in columns of text, with a point; refuse a column that has both."""
    for index, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            column = table.column(index)
            _refuse_both(column, where=f"{name}: the column `{field.name}`")
            table = table.set_column(index, field.name, _point_column(column))
    return table


def find_decimal(table: pa.Table, *, delimiter: str) -> Decimal:
    """Tell the decimal mark of a table of text: a comma if some column needs one, and none a point.

    1,234 alone may mean either; between semicolons, which stand in for commas in countries that need those for their
    numbers, it has a decimal comma.
    """
    found = {_mark(column) for column in table.columns if pa.types.is_string(column.type)}
    is_comma = "," in found or ("either" in found and delimiter == ";")
    return "," if is_comma and "." not in found else "."


def _point_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([comma_to_point(chunk) for chunk in column.chunks], type=column.type)


def _refuse_both(column: pa.ChunkedArray, *, where: str) -> None:
    """Refuse a column of numbers in which a point is a decimal mark in one cell and none in another."""
    pointed = column.filter(pc.match_substring_regex(column, _POINTED))
    has_comma_form = is_with_comma(pointed)
    decimals, groups = pointed.filter(pc.invert(has_comma_form)), pointed.filter(has_comma_form)
    if len(decimals) and len(groups) and parse_numbers(_point_column(column)).fits():
        raise DataError(
            f"{where} holds {decimals[0].as_py()!r} with a decimal point and {groups[0].as_py()!r}, which is "
            f"{comma_to_point(pa.array([groups[0].as_py()]))[0].as_py()} with data.decimal: ','; "
            "write the whole column in one way"
        )


def _mark(column: pa.ChunkedArray) -> str:
    """Tell which mark the numbers of a column need: a comma, a point, either, or none."""
    with_point, with_comma = parse_numbers(column), parse_numbers(_point_column(column))
    has_comma_form = is_with_comma(column)
    needs_point = pc.and_(pc.match_substring_regex(column, _POINTED), pc.invert(has_comma_form))
    if with_point.fits():
        if pc.any(needs_point).as_py():
            return "."
        has_comma = pc.and_(has_comma_form, pc.match_substring(column, ","))
        return "either" if pc.any(has_comma).as_py() else ""
    return "," if with_comma.fits() else ""
