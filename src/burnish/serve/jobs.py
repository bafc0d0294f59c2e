"""A request that waits for its answer, the parts of it that are computed one by one, and what is sent back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import shorten
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from burnish.data.codecs.answers import dump_json
from burnish.data.codecs.decoded import DecodedRows, RowError, explain_errors
from burnish.data.codecs.formats import RowCodec
from burnish.spec.values import Array

JSON = b"application/json"
_LISTED = 100
NOTES = b"burnish-notes"
"""The header with a JSON list of notes on the answers, in ASCII."""
_NOTES, _NOTE_CHARACTERS = 20, 200
ALLOW_MISSING = "?missing=allow to predict without what is missing"
Style = Literal["full", "names", "name"]
"""Whole answers in the form that goes with the rows; or only what is predicted: of all rows, or of the only one."""


@dataclass(frozen=True)
class HttpReply:
    """What is sent back."""

    status: int
    body: bytes
    content_type: bytes = JSON
    retry_after: int | None = None
    """Seconds after which a refused request may be sent again."""
    notes: tuple[str, ...] = ()
    """What to know of the answers; in a header, so that every format of answers stays what it is."""

    def headers(self, *, is_last: bool = False) -> list[tuple[bytes, bytes]]:
        """Give the headers that go before the body; the last answer of a connection says so."""
        headers = [(b"content-type", self.content_type), (b"content-length", b"%d" % len(self.body))]
        if self.retry_after is not None:
            headers.append((b"retry-after", b"%d" % self.retry_after))
        if self.notes:
            headers.append((NOTES, json.dumps([shorten(note, _NOTE_CHARACTERS) for note in self.notes]).encode()))
        if self.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        # A client opens its next connection elsewhere, or the rest of its body would be taken for a request.
        if is_last or self.status in (408, 413):
            headers.append((b"connection", b"close"))
        return headers


@dataclass(slots=True, eq=False)
class Job:
    """One request for predictions; workers fill in what becomes of it."""

    payload: bytes
    codec: RowCodec
    content_type: bytes
    """Of the answer."""
    arrived: float
    deadline: float
    """When it is refused unless its computation has begun."""
    waiter: Any
    """The future that the connection waits for."""
    is_partial: bool = False
    allows_missing: bool = False
    """Whether rows may lack what every training row had."""
    notes: tuple[str, ...] = ()
    """What to know of its answers."""
    style: Style = "full"
    source: DecodedRows | None = None
    """Its rows, among those of other requests that were read with it."""
    first: int = 0
    num_rows: int = 0
    """Where its usable rows stand there, and how many they are."""
    num_waiting: int = 0
    """How many of its parts are still to be computed."""
    pieces: list[tuple[dict[str, Array], int, int]] = field(default_factory=list)
    """Outputs of batches, and from where to where they are of this request."""
    reply: HttpReply | None = None

    @property
    def rows(self) -> DecodedRows:
        """Its own rows and what is wrong with them; rows that others stand beside are all good."""
        assert self.source is not None, "rows are read before anything else"
        if self.source.errors or (self.first, self.num_rows) == (0, len(self.source.table)):
            return self.source
        table = self.source.table.slice(self.first, self.num_rows)
        return DecodedRows(table, np.arange(1, self.num_rows + 1), self.num_rows)

    def read_from(self, source: DecodedRows, *, first: int = 0, num_rows: int | None = None) -> None:
        """Note where its rows are."""
        self.source, self.first = source, first
        self.num_rows = len(source.table) if num_rows is None else num_rows

    def refuse(self, status: int, sentence: str, *, retry_after: int | None = None, **more: object) -> None:
        """Answer with what is wrong."""
        self.reply = problem(status, sentence, retry_after=retry_after, **more)

    def refuse_rows(self) -> None:
        """Answer with everything that is wrong with the rows."""
        errors, count = self.rows.errors, self.rows.num_rows
        summary = explain_errors(errors, num_rows=count).split("\n", 1)[0]
        shown = [row_problem(error) for error in errors[:_LISTED]]
        more = {"more": len(errors) - _LISTED} if len(errors) > _LISTED else {}
        allow = f", or {ALLOW_MISSING}" if self.rows.lacks_given else ""
        self.refuse(422, f"{summary}; add ?partial=true to predict the others{allow}", rows=shown, **more)

    def add_notes(self, notes: Sequence[str]) -> None:
        """Note what was missing, as far as a header should be long."""
        rest = len(notes) - _NOTES
        self.notes = (*notes[:_NOTES], *([f"… and {rest:,} more"] if rest > 0 else []))


@dataclass(slots=True, eq=False)
class Chunk:
    """Features of one job that are computed together."""

    job: Job
    features: pa.Table
    """Those of several jobs, which were encoded together."""
    indices: Array
    length: int
    """The longest, in tokens."""
    turn: float
    """When it came; later parts of a long request give way to requests that came meanwhile."""
    num_bytes: float

    @property
    def tokens(self) -> int:
        """Count tokens with the padding within the chunk."""
        return self.length * len(self.indices)


def problem(status: int, sentence: str, *, retry_after: int | None = None, **more: object) -> HttpReply:
    """Say in JSON what is wrong."""
    return HttpReply(
        status, (dump_json({"error": sentence, **more}) + "\n").encode(errors="replace"), JSON, retry_after
    )


def row_problem(error: RowError) -> Mapping[str, object]:
    """Name row and field of one fault."""
    place: dict[str, object] = {"row": error.row}
    if error.line is not None:
        place["line"] = error.line
    if error.column is not None:
        place["field"] = error.column
    return {**place, "error": error.what}
