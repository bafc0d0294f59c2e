"""Numbers as people write them: with currency signs, percent, thousands separators and decimal commas."""

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

_BLANKS = " \u00a0\u202f"
_CURRENCY = r"(?:US\$|[$€£¥₹]|USD|EUR|GBP|CHF|JPY|CNY|SEK|NOK|DKK|PLN|CZK)"
_UNIT = rf"(?:{_CURRENCY}|%)"
_POINT_GROUPS = ",'\u2019\u00a0\u202f"
_COMMA_GROUPS = f".'\u2019{_BLANKS}"
_GAP = f"([0-9])['\u2019{_BLANKS}]([0-9])"


def _pattern(groups: str, mark: str) -> str:
    """Give the pattern of a number with an optional unit before or after it; thousands come in groups of three."""
    whole = f"(?:[1-9][0-9]{{0,2}}(?:[{groups}][0-9]{{3}})+|[0-9]+)"
    number = f"(?:{whole}(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][+-]?[0-9]+)?"
    gap = f"[{_BLANKS}]*"
    return rf"^\s*(?:[+-]?{_CURRENCY}{gap}[+-]?{number}|[+-]?{number}(?:{gap}{_UNIT})?)\s*$"


_WITH_POINT, _WITH_COMMA = _pattern(_POINT_GROUPS, r"\."), _pattern(_COMMA_GROUPS, ",")


def without_marks(texts: pa.Array) -> pa.Array:
    """Write a number like $1,234.50 or 12 % as 1234.50 or 12; every other text stays as it is."""
    is_number = pc.match_substring_regex(texts, _WITH_POINT)
    return _rewritten(texts, is_number, _bare)


def is_with_comma(texts: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Tell which texts are numbers if a comma is the decimal mark."""
    return pc.match_substring_regex(texts, _WITH_COMMA)


def comma_to_point(texts: pa.Array) -> pa.Array:
    """Write a number like 1.234,50 as 1234.50, its unit kept; every other text stays as it is."""
    return _rewritten(texts, is_with_comma(texts), _pointed)


def _bare(texts: pa.Array) -> pa.Array:
    without_unit = pc.replace_substring_regex(texts, pattern=_UNIT, replacement="")
    return pc.replace_substring_regex(without_unit, pattern=rf"[{_POINT_GROUPS}\s]", replacement="")


def _pointed(texts: pa.Array) -> pa.Array:
    pointed = pc.replace_substring(
        pc.replace_substring(texts, pattern=".", replacement=""), pattern=",", replacement="."
    )
    if not pc.any(pc.match_substring_regex(pointed, _GAP)).as_py():  # rare, and slow to replace
        return pointed
    return pc.replace_substring_regex(pointed, pattern=_GAP, replacement=r"\1\2")


def _rewritten(texts: pa.Array, mask: pa.Array, rewrite: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """Rewrite the texts where the mask is true, and look at no other: prose is long, and holds no number."""
    chosen = texts.filter(mask)
    return pc.replace_with_mask(texts, pc.fill_null(mask, False), rewrite(chosen)) if len(chosen) else texts
