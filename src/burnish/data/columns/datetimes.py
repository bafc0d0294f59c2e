"""Reads dates and times written as text, and takes them apart."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.spec.values import Array

_TIME = (
    r"(?:[T ]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}(?:\.\d+)?))?\s*(?P<half>[AaPp][Mm])?"
    r"\s*(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})?)?$"
)
_FORMS = (
    r"^(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})" + _TIME,
    r"^(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})" + _TIME,
)
_MONTH_FIRST = r"^(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})" + _TIME
_DAY_FIRST = r"^(?P<day>\d{1,2})/(?P<month>\d{1,2})/(?P<year>\d{4})" + _TIME
_DAY = 86400.0
_HOUR = 3600.0

PERIODS: Mapping[str, float] = {"hour": 24.0, "weekday": 7.0, "day": 31.0, "month": 12.0, "day_of_year": 366.0}
"""The parts of a time that come round again, and after how many."""

CompactForm = Literal["", "YYYYMM", "YYYYMMDD", "YYYYMMDDHHMM", "YYYYMMDDHHMMSS"]
"""How dates are written as bare numbers, like 20240301; none where such numbers are seconds."""
_COMPACT_FORMS: tuple[CompactForm, ...] = ("YYYYMM", "YYYYMMDD", "YYYYMMDDHHMM", "YYYYMMDDHHMMSS")
_COMPACT_YEARS = (1900, 2100)
_COMPACT_SHARE = 0.98
"""The share of a column's numbers that must be dates in a form for the column to be in that form."""


def parse_seconds(texts: pa.Array, *, day_first: bool = False) -> "Array":
    """Parse seconds since 1970 from `2024-03-01 18:30[:00][Z]`, `3/1/2024 6:30 PM` or `1.3.2024`; else nan."""
    total = np.full(len(texts), np.nan)
    for form in (*_FORMS, _DAY_FIRST if day_first else _MONTH_FIRST):
        found = pc.extract_regex(texts, pattern=form)
        total = np.where(np.isnan(total), _compose(found), total)
    return total


def parse_compact(numbers: "Array", form: CompactForm) -> "Array":
    """Parse seconds since 1970 from numbers like 20240301; nan for a number that is no such date."""
    digits = np.where(np.isfinite(numbers), numbers, 0)
    is_whole = digits == np.floor(digits)
    clock = np.zeros_like(digits)
    if form == "YYYYMMDDHHMMSS":
        digits, second = np.divmod(digits, 100)
        clock += np.where(second < 60, second, np.nan)
    if form in ("YYYYMMDDHHMM", "YYYYMMDDHHMMSS"):
        digits, minute = np.divmod(digits, 100)
        digits, hour = np.divmod(digits, 100)
        clock += np.where((minute < 60) & (hour < 24), hour * _HOUR + minute * 60, np.nan)
    day = np.ones_like(digits)
    if form != "YYYYMM":
        digits, day = np.divmod(digits, 100)
    year, month = np.divmod(digits, 100)
    is_right = is_whole & (month >= 1) & (month <= 12) & (year >= _COMPACT_YEARS[0]) & (year < _COMPACT_YEARS[1])
    days = _days(np.where(is_right, year, 1970), np.where(is_right, month, 1), day)
    return np.asarray(np.where(is_right, days * _DAY + clock, np.nan))


def find_compact_form(numbers: "Array") -> CompactForm:
    """Tell in which form the numbers of a column are dates; in none if more than a few of them are no dates in it."""
    known = numbers[np.isfinite(numbers)]
    for form in _COMPACT_FORMS:
        num_dates = np.count_nonzero(~np.isnan(parse_compact(known, form)))
        if num_dates and num_dates >= _COMPACT_SHARE * len(known):
            return form
    return ""


def slash_order(texts: pa.Array) -> Literal["day", "month", "unknown"] | None:
    """Tell what comes first in dates such as 31/12/2024: none says so if all could be either; None without any."""
    is_day, is_month = (
        np.isfinite(_compose(pc.extract_regex(texts, pattern=form))) for form in (_DAY_FIRST, _MONTH_FIRST)
    )
    if not (is_day | is_month).any():
        return None
    if (is_day & ~is_month).any() == (is_month & ~is_day).any():
        return "unknown"
    return "day" if (is_day & ~is_month).any() else "month"


def take_part(seconds: "Array", name: str) -> "Array":
    """Take a part out of times: year, month, day, weekday (Monday is 0), hour, minute, day_of_year, elapsed days."""
    return np.asarray(np.where(np.isnan(seconds), np.nan, _PARTS[name](np.nan_to_num(seconds))))


def _compose(found: pa.StructArray) -> "Array":
    if found.null_count == len(found):
        return np.full(len(found), np.nan)
    year, month, day = (_field(found, name) for name in ("year", "month", "day"))
    hour, minute, second = (np.nan_to_num(_field(found, name)) for name in ("hour", "minute", "second"))
    half = pc.fill_null(pc.utf8_lower(found.field("half")), "")
    is_half, is_late = (
        np.asarray(mask.to_numpy(zero_copy_only=False)) for mask in (pc.not_equal(half, ""), pc.equal(half, "pm"))
    )
    is_right = (month >= 1) & (month <= 12) & (hour < 24) & (minute < 60) & (second < 61) & ~(is_half & (hour > 12))
    hour = np.where(is_half, hour % 12 + 12 * is_late, hour)
    days = _days(year, np.where(is_right, month, 1), day)
    zone = pc.extract_regex(pc.fill_null(found.field("zone"), ""), pattern=r"(?P<sign>[+-])(?P<h>\d\d):?(?P<m>\d\d)")
    hours, minutes = (np.nan_to_num(_field(zone, name)) for name in ("h", "m"))
    sign = np.where(pc.fill_null(pc.equal(zone.field("sign"), "-"), False).to_numpy(zero_copy_only=False), -1.0, 1.0)
    total = days * _DAY + hour * _HOUR + minute * 60 + second - np.asarray(sign * (hours * _HOUR + minutes * 60))
    return np.asarray(np.where(is_right, total, np.nan))


def _days(year: "Array", month: "Array", day: "Array") -> "Array":
    """Count days since 1970; nan where the month has no such day."""
    months = ((np.nan_to_num(year, nan=1970) - 1970) * 12 + np.nan_to_num(month, nan=1) - 1).astype("M8[M]")
    first = months.astype("M8[D]")
    length = ((months + 1).astype("M8[D]") - first).astype(np.float64)
    return np.asarray(np.where((day >= 1) & (day <= length), first.astype(np.float64) + day - 1, np.nan))


def _field(found: pa.StructArray, name: str) -> "Array":
    text = found.field(name)
    filled = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    values = pc.cast(filled, pa.float64()).to_numpy(zero_copy_only=False)
    return np.where(found.is_valid().to_numpy(zero_copy_only=False), values, np.nan)


def _calendar(unit: str, origin: str) -> "Callable[[Array], Array]":
    def take(seconds: "Array") -> "Array":
        stamps = np.floor(seconds).astype("M8[s]")
        within = stamps.astype(f"M8[{unit}]") - stamps.astype(f"M8[{origin}]").astype(f"M8[{unit}]")
        return np.asarray(within.astype(np.float64))

    return take


def _year(seconds: "Array") -> "Array":
    return np.asarray(np.floor(seconds).astype("M8[s]").astype("M8[Y]").astype(np.float64) + 1970)


_PARTS: "Mapping[str, Callable[[Array], Array]]" = {
    "year": _year,
    "month": lambda seconds: _calendar("M", "Y")(seconds) + 1,
    "day": lambda seconds: _calendar("D", "M")(seconds) + 1,
    "day_of_year": lambda seconds: _calendar("D", "Y")(seconds) + 1,
    "weekday": lambda seconds: (np.floor(seconds / _DAY) + 3) % 7,  # 1970 began on a Thursday
    "hour": lambda seconds: np.floor(seconds / _HOUR) % 24,
    "minute": lambda seconds: np.floor(seconds / 60) % 60,
    "elapsed": lambda seconds: seconds / _DAY,
}
