"""Bytes as people write them: 20GB, 512 MiB."""

import re
from decimal import Decimal

from burnish.errors import ConfigError, Problem

_UNITS = {"": 1, "B": 1, **{f"{prefix}B": 1000**power for power, prefix in enumerate("KMGTP", start=1)}}
_UNITS |= {f"{prefix}IB": 1024**power for power, prefix in enumerate("KMGTP", start=1)}
_FORM = re.compile(r"^\s*([0-9]{1,30}(?:[._][0-9]{1,30}){0,9})\s*([A-Z]*)\s*$")


def parse_size(text: str, *, option: str) -> int:
    """Read a number of bytes like `20GB`; refuse anything else, naming the option it was given for."""
    match = _FORM.match(text.upper())
    unit = match[2] if match else ""
    unit = unit if unit in _UNITS else f"{unit}B"
    if match is None or unit not in _UNITS or match[1].count(".") > 1:
        problem = Problem(f"{option} must be a size in bytes, like 500MB, 20GB or 1.5TiB, got {text!r}")
        raise ConfigError([problem], subject="the request")
    return int(Decimal(match[1].replace("_", "")) * _UNITS[unit])


def write_size(num_bytes: int) -> str:
    """Write a number of bytes with three digits at most, like `1.2 GB`."""
    size, prefixes = float(num_bytes), ["", "k", "M", "G", "T", "P"]
    while size >= 999.5 and len(prefixes) > 1:
        size /= 1000
        prefixes = prefixes[1:]
    number = f"{size:.1f}" if size < 9.95 and num_bytes >= 1000 else f"{size:.0f}"
    return f"{number} {prefixes[0]}B"
