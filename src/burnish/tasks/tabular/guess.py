"""Guesses the kind of a column from the training rows: number, category, flag, time, hash, or nothing of use."""

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.columns.datetimes import CompactForm, find_compact_form, slash_order
from burnish.data.columns.parse_columns import EXACT, is_opaque, parse_flags
from burnish.spec.values import Array
from burnish.tasks.tabular.frame import ColumnFrame

_ID = re.compile(r"(^|[_\W])(id|uuid|guid|key|index|rownum|row_number|row_?names?)$|^unnamed|^column1$", re.IGNORECASE)
_CODE = re.compile(r"(_id|area|tract|zip|zip_?code|post_?code|code|number_type)$", re.IGNORECASE)
_TIME = re.compile(r"(timestamp|datetime|epoch|_at|_time)$", re.IGNORECASE)
_DATE = re.compile(r"(date|day|month|period|yyyymm|timestamp|datetime|_at|_time)", re.IGNORECASE)
_FEWEST_DATES = 3
"""Fewer different numbers like 20240301 may be anything, unless the name of their column speaks of dates."""
_YEAR_SECONDS = 365 * 86400
_EPOCH = (1e8, 4.2e9)
"""Seconds that are dates between 1973 and 2103."""
_MOST_CATEGORIES = 1000
_MOST_DISTINCT = 0.95
"""Words that are distinct in more rows than this name rows."""
_FEWEST_ROWS = 20
_PROSE_WORDS = 5.0
_FEWEST_WORDS, _SHARE_OF_PROSE = 3.0, 0.1
"""Cells of fewer words, or with fewer distinct values among the rows, are categories."""


@dataclass(frozen=True)
class Guess:
    """A kind, and in words why."""

    kind: str
    why: str


def guess(frame: ColumnFrame, name: str) -> Guess:
    """Find what a column seems to be."""
    kind = frame.column(name).type
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_boolean(inner):
        return Guess("boolean", "true and false")
    if pa.types.is_date(inner) or pa.types.is_timestamp(inner):
        return Guess("datetime", "dates or time stamps")
    if is_opaque(inner) or pa.types.is_temporal(inner):
        return Guess("drop", f"it holds {inner}")
    read = frame.numbers(name)
    is_number = read.fits() and not _lose_digits(frame, name, read.values)
    if is_number and (form := _guess_date_form(read.values, name)):
        return Guess("datetime", f"dates written as {form}")
    found = _number(read.values, name, num_rows=len(frame)) if is_number else _text(frame, name)
    if found.kind not in ("number", "datetime"):
        return found
    num_wrong = int((read if is_number else frame.times(name, day_first=is_day_first(frame, name))).is_wrong.sum())
    return Guess(found.kind, f"{found.why}, {_counted(num_wrong, 'unreadable cell')}") if num_wrong else found


def _lose_digits(frame: ColumnFrame, name: str, values: "Array") -> bool:
    """Check whether distinct whole numbers, such as ids of 64 bits, are one and the same float."""
    if not np.any(np.abs(values) >= EXACT):
        return False
    distinct = pc.unique(frame.words(name).values)
    long = distinct.filter(pc.match_substring_regex(distinct, r"^-?\d{16,}$"))
    return len(long.cast(pa.float64()).unique()) < len(long)


def _number(values: "Array", name: str, *, num_rows: int) -> Guess:
    known = values[np.isfinite(values)]
    if not len(known):
        return Guess("drop", "it is empty")
    distinct = np.unique(known)
    if len(distinct) == 1 and len(known) == num_rows:
        return Guess("drop", f"it holds {distinct[0]:g} in every row")
    if set(distinct.tolist()) <= {0.0, 1.0}:
        return Guess("boolean", "0 and 1")
    if np.any(distinct != np.round(distinct)):
        return Guess("number", _counted(len(distinct), "distinct value"))
    is_unique = len(distinct) == len(known) >= _FEWEST_ROWS
    is_run = distinct[-1] - distinct[0] + 1 == len(distinct)
    if is_unique and (is_run or _ID.search(name)):
        return Guess("drop", "it numbers the rows")
    if _TIME.search(name) and _EPOCH[0] <= distinct[0] and distinct[-1] <= _EPOCH[1] * 1000:
        return Guess("datetime", "seconds since 1970")
    if _CODE.search(name):
        few = len(distinct) <= _MOST_CATEGORIES
        return Guess("category" if few else "hash", _counted(len(distinct), "code"))
    return Guess("number", _counted(len(distinct), "distinct value"))


def _text(frame: ColumnFrame, name: str) -> Guess:
    read = frame.words(name)
    num_known = int((read.codes >= 0).sum())
    distinct = pc.drop_null(pc.unique(read.values))
    if len(distinct) == 1 and num_known == len(frame):
        return Guess("drop", f"it holds {distinct[0].as_py()[:40]!r} in every row")
    if len(distinct) <= 2 and not parse_flags(distinct).is_wrong.any():
        return Guess("boolean", " and ".join(distinct.to_pylist()))
    order = slash_order(distinct)
    if order != "unknown" and not frame.numbers(name).fits() and frame.times(name, day_first=order == "day").fits():
        return Guess("datetime", "dates or times")
    mean_words = _mean_words(distinct)
    is_mostly_distinct = num_known >= _FEWEST_ROWS and len(distinct) > _MOST_DISTINCT * num_known
    if mean_words >= _PROSE_WORDS and len(distinct) > num_known / 2:
        return Guess("drop", f"it is text of about {mean_words:.0f} words; this task reads no prose")
    if is_mostly_distinct:
        return Guess("drop", "nearly every value is unique, so it looks like an ID")
    if len(distinct) <= _MOST_CATEGORIES:
        return Guess("category", _counted(len(distinct), "distinct value"))
    return Guess("hash", _counted(len(distinct), "distinct value"))


def is_day_first(frame: ColumnFrame, name: str) -> bool:
    """Check whether the dates of a column show that their day comes first, as in 31/12/2024."""
    kind = frame.column(name).type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return is_text and slash_order(pc.drop_null(pc.unique(frame.words(name).values))) == "day"


def _guess_date_form(values: "Array", name: str) -> CompactForm:
    """Tell how the numbers of a column write dates, if they do; six digits are more often an amount."""
    form = find_compact_form(values)
    says_so = _DATE.search(name) is not None
    if form == "YYYYMM" and not says_so:
        return ""
    num_dates = len(np.unique(values[np.isfinite(values)]))
    is_enough = num_dates >= (2 if says_so else _FEWEST_DATES)
    return form if is_enough and not _ID.search(name) else ""


def find_date_form(frame: ColumnFrame, name: str) -> CompactForm:
    """Tell how the numbers of a column of dates are written, if it holds any."""
    kind = frame.column(name).type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return ""
    return find_compact_form(frame.numbers(name).values)


def is_all_of_1970(frame: ColumnFrame, name: str, seconds: "Array") -> bool:
    """Check whether bare numbers, read as seconds since 1970, never leave that year: few clocks show that."""
    known = seconds[np.isfinite(seconds)]
    if not len(known) or not (known.min() >= 0 and known.max() < _YEAR_SECONDS):
        return False
    kind = frame.column(name).type
    return not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)) and frame.numbers(name).fits()


def words_of_prose(frame: ColumnFrame, name: str) -> float | None:
    """Count the words of a cell where a column's values, few of them alike, look like text; None where they do not."""
    found = guess(frame, name)
    if found.kind not in ("category", "hash", "drop") or is_opaque(frame.column(name).type):
        return None
    distinct = pc.drop_null(pc.unique(frame.words(name).values))
    if len(distinct) < max(2, _SHARE_OF_PROSE * len(frame)) or _mean_words(distinct) < _FEWEST_WORDS:
        return None
    return _mean_words(distinct)


def _mean_words(distinct: pa.Array) -> float:
    return float(pc.mean(pc.add(pc.count_substring_regex(distinct, pattern=r"\s+"), 1)).as_py())


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
