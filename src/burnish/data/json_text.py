"""Parses JSON that a stranger wrote: what would exhaust the parser is refused in a sentence."""

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from burnish.data.contents import count

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
        raise ValueError(f"holds a number of more digits than are read; at most {most:,} are right") from error


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
