"""The names of the formats and the content types that mean them; nothing heavy is imported."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Literal, get_args

from burnish.errors import DataError

FormatName = Literal["json", "jsonl", "json_lists", "csv", "csv_rows", "example", "squad"]
FORMAT_NAMES: tuple[FormatName, ...] = get_args(FormatName)

CONTENT_TYPES: Mapping[str, FormatName] = {
    "application/json": "json",
    "application/jsonl": "jsonl",
    "application/x-ndjson": "jsonl",
    "application/x-jsonlines": "jsonl",
    "text/csv": "csv",
    "application/x-tfrecord": "example",
    "application/octet-stream": "example",
    "application/x-protobuf": "example",
}


def format_of(content_type: str) -> FormatName:
    """Give the format that a Content-Type header means, or refuse with those there are."""
    kind, *parameters = (part.strip().lower() for part in content_type.split(";"))
    found = CONTENT_TYPES.get(kind)
    if found is None:
        close = get_close_matches(kind, CONTENT_TYPES, n=1)
        hint = f"Did you mean `{close[0]}`? " if close else ""
        raise DataError(f"no rows are read from `{kind}`. {hint}The types are {', '.join(CONTENT_TYPES)}")
    return "csv_rows" if found == "csv" and "header=absent" in parameters else found
