"""What is an address, such as gs://bucket/folder, and what a path on this machine."""

import re
from pathlib import Path

from burnish.errors import ConfigError, Problem

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.DOTALL)


def read_address(written: str | Path | None) -> str | None:
    """Give an address as it is written in full, without a slash at its end; None for a path on this machine."""
    found = _ADDRESS.fullmatch(str(written)) if written is not None else None
    if found is None:
        return None
    return f"{found[1]}://{found[2]}".rstrip("/")  # of which a Path keeps one slash


def refuse_address(path: Path) -> None:
    """Refuse an address where only a path on this machine will do."""
    address = read_address(path)
    if address is not None:
        sentence = f"{address} is an address, and this must be a path on this machine; copy it with `burnish cp`"
        raise ConfigError([Problem(sentence)], subject="the request")
