"""Parses JSON that a stranger wrote: what would exhaust the parser is refused in a sentence."""

import json
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pyarrow as pa

from burnish.data.readers.open_file import count

MAX_DEPTH = 100
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|([\[{])|[\]}]')


def parse_json(text: str, *, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Do as json.loads; a ValueError that is no JSONDecodeError says in words what no row may hold."""
    if _is_deep(text.encode(errors="surrogatepass")):
        raise ValueError(f"is nested too deeply; at most {MAX_DEPTH} levels are read")
    try:
        return json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        if "integer string conversion" not in str(error):
            raise  # what `pairs` refused
        most = sys.get_int_max_str_digits()
        raise ValueError(f"has a number with too many digits; at most {most:,} are read") from error


def distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its pairs; raise ValueError if it has a key twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key `{twin}` is given more than once")
    return found


def column_of(values: list[Any]) -> pa.Array:
    """Give values as one column; numbers beside words all become text, as they would be in a CSV file."""
    if not _would_lose_digits(values):
        with suppress(pa.ArrowException, OverflowError):
            return pa.array(values)
    return pa.array([_as_text(value) for value in values], type=pa.string())


def _would_lose_digits(values: list[Any]) -> bool:
    """Tell whether whole numbers that no float holds stand among fractions, beside which they would become floats."""
    return {int, float} <= set(map(type, values)) and any(type(one) is int and abs(one) > 2**53 for one in values)


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
