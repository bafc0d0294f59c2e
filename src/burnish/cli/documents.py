"""Values as the JSON that `--json` prints."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

_NUMBERS = re.compile(r"\[\n([-+0-9.eE,\s]+)\n *\]")
"""A list of numbers as it is indented; a line end is never inside of a JSON string."""


def print_document(value: object, *, indent: int | None = 2) -> None:
    """Print one JSON document to standard output; a list of numbers is one line, however many there are."""
    text = json.dumps(to_json(value), indent=indent, ensure_ascii=False, allow_nan=False)
    print(_NUMBERS.sub(lambda found: f"[{' '.join(found[1].split())}]", text), flush=True)


def to_json(value: object) -> object:
    """Turn dataclasses, mappings, sequences and paths into JSON values; nan and inf into strings."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, Path):
        return value.as_posix()
    if is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    return str(value)
