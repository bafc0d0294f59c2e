"""What a format of rows of one's own must answer."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class RowFormat(Protocol):
    """A custom way to write rows and the answers to them, for `predict --format` and `serve --format`."""

    @property
    def content_type(self) -> str:
        """The type by which a request names the format."""
        ...

    def decode(self, payload: bytes) -> Sequence[Mapping[str, Any]]:
        """Read rows as mappings from column to value; raise ValueError, with a sentence, if they cannot be read."""
        ...

    def encode(self, answers: Sequence[Mapping[str, Any]]) -> bytes:
        """Write an answer for each row: `predicted` and what goes with it, or `error`."""
        ...
