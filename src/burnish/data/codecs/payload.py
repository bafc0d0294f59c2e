"""The bytes of a request: how many there may be, and the text in them."""

from dataclasses import dataclass

import pyarrow as pa

from burnish.data.readers.open_file import text_body
from burnish.data.readers.scan import decoded, lost_byte
from burnish.errors import DataError

NAME = "the payload"


@dataclass(frozen=True)
class Limits:
    """How much is read at once. Parsing takes memory in proportion: many times the bytes of a payload of tiny rows."""

    payload_bytes: int = 16 << 20
    rows: int = 250_000
    """Where rows stand on lines, lines are counted."""

    def check(self, payload: bytes) -> None:
        """Refuse a payload that is too large."""
        if len(payload) > self.payload_bytes:
            raise DataError(
                f"the payload has {len(payload):,} bytes, but only {self.payload_bytes:,} are read at once; "
                "send it in parts"
            )

    def check_rows(self, count: int, *, what: str = "rows") -> None:
        """Refuse too many rows before anything is made of them."""
        if count > self.rows:
            raise DataError(
                f"the payload has {count:,} {what}, but only {self.rows:,} are read at once; send it in parts"
            )


DEFAULT_LIMITS = Limits()


def text_of(payload: bytes) -> str:
    """Give the text of a payload without a byte-order mark; refuse what is no UTF-8, with its line."""
    text = decoded(text_body(pa.py_buffer(payload), name=NAME).to_pybytes())
    lost = lost_byte(text)
    if lost is not None:
        line = next(n for n, each in enumerate(text.split("\n"), start=1) if lost_byte(each))
        raise DataError(f"{NAME}, line {line}: {lost.replace('save the file as', 'send it as')}")
    if not text.strip():
        raise DataError(f"{NAME} is empty")
    return text
