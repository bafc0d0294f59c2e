"""Reads what a request carries: its body within limits, the format it names, and TorchServe's envelopes."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from burnish.data.codecs.answers import dump_json
from burnish.data.codecs.columns import ColumnSpec, find_format, read_columns
from burnish.data.codecs.convert import Unfit, unwrap
from burnish.data.codecs.formats import CODECS, OwnFormat, RowCodec, find_codec
from burnish.data.readers.read_json import parse_json
from burnish.errors import DataError
from burnish.registry import default_registry
from burnish.serve.jobs import JSON, HttpReply, Job, problem
from burnish.serve.settings import Settings

_ANSWERS: Mapping[str, bytes] = {
    "json": JSON,
    "json_lists": JSON,
    "squad": JSON,
    "jsonl": b"application/jsonl",
    "example": b"application/jsonl",
    "csv": b"text/csv; charset=utf-8",
    "csv_rows": b"text/csv; charset=utf-8; header=absent",
}
_LEAST_BYTES_A_SECOND = 100_000
_BY_CURL = b"application/x-www-form-urlencoded"
"""What curl calls everything that is sent with -d."""


class BodyRefused(Exception):
    """Carry the reply to a request whose body is not even looked at."""

    def __init__(self, reply: HttpReply) -> None:
        super().__init__()
        self.reply = reply


@dataclass
class RowFormats:
    """Find the codec that a content type names; what was found once is remembered."""

    own: Mapping[str, RowCodec] = field(default_factory=dict)
    """Codecs of users by content type."""
    _known: dict[bytes, tuple[RowCodec, bytes]] = field(default_factory=dict)

    @classmethod
    def load(cls, formats: Sequence[str]) -> "RowFormats":
        """Load formats of users by name or address; installed ones are read without being named."""
        installed = [each.name for each in default_registry().names("formats")]
        codecs = [codec for name in {*installed, *formats} if isinstance(codec := find_codec(name), OwnFormat)]
        return cls({codec.format.content_type.lower(): codec for codec in codecs})

    def find(self, headers: Sequence[tuple[bytes, bytes]]) -> tuple[RowCodec, bytes]:
        """Give the codec for a request and the content type of its answer; JSON if it names none."""
        given = next((value for name, value in headers if name == b"content-type"), JSON)
        found = self._known.get(given)
        if found is None:
            found = self._look_up(given)
            if len(self._known) < 100:  # a client may send anything
                self._known[given] = found
        return found

    def _look_up(self, given: bytes) -> tuple[RowCodec, bytes]:
        text = given.decode("latin-1")
        kind = text.partition(";")[0].strip().lower()
        if kind in self.own:
            return self.own[kind], kind.encode()
        try:
            name = "json" if kind.encode() == _BY_CURL else find_format(text)
        except DataError as error:
            raise BodyRefused(problem(415, str(error))) from error
        return CODECS[name], _ANSWERS[name]


async def read_body(scope: Any, receive: Any, settings: Settings) -> bytes:
    """Read a body that is neither too large nor too slow, in all: a large one has more time, for those far away."""
    declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if declared.isdigit() and int(declared) > settings.max_bytes:
        raise BodyRefused(_too_large(int(declared), settings))
    began, parts, size = asyncio.get_running_loop().time(), [], 0
    try:
        async with asyncio.timeout(settings.body_seconds) as limit:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise BodyRefused(problem(400, "the connection was closed before the body was complete"))
                parts.append(message.get("body", b""))
                size += len(parts[-1])
                if size > settings.max_bytes:
                    raise BodyRefused(_too_large(size, settings))
                if not message.get("more_body"):
                    return b"".join(parts)
                limit.reschedule(began + settings.body_seconds + size / _LEAST_BYTES_A_SECOND)
    except TimeoutError as error:
        slow = f"{settings.body_seconds:g} seconds and one more for every {_LEAST_BYTES_A_SECOND:,} bytes"
        raise BodyRefused(problem(408, f"the body did not arrive within {slow}")) from error


def _too_large(size: int, settings: Settings) -> HttpReply:
    return problem(
        413, f"the body has {size:,} bytes or more, but only {settings.max_bytes:,} are read at once; send it in parts"
    )


def read_torchserve(job: Job, columns: Sequence[ColumnSpec]) -> None:
    """Take {"data": …}, {"instances": [{"data": …}]} or the plain text of a row, and answer with bare class names."""
    if job.codec is not CODECS["json"]:
        return
    job.style = "names"
    try:
        document = parse_json(job.payload.decode())
    except (ValueError, RecursionError):
        # What is no JSON is the row itself, as TorchServe's handlers read it.
        document = {"data": job.payload.decode(errors="replace")}
    if isinstance(document, dict) and set(document) in ({"data"}, {"body"}):
        document, job.style = {"instances": [document]}, "name"
    instances = document.get("instances") if isinstance(document, dict) else document
    if not isinstance(instances, list):
        return
    names = [spec.name for spec in read_columns(columns)]
    rows = [_unpacked(each) if "data" not in names else each for each in instances]
    job.payload = dump_json({"instances": rows}).encode(errors="replace")


def _unpacked(row: Any) -> Any:
    """Take a row out of {"data": …}; bytes in base64 are a text, or a JSON object of columns."""
    if not isinstance(row, dict) or len(row) != 1 or not set(row) & {"data", "body"}:
        return row
    value = next(iter(row.values()))
    try:
        content = unwrap(value)
    except Unfit:
        return value
    if not isinstance(content, bytes):
        return value
    text = content.decode(errors="replace")
    try:
        parsed = parse_json(text)
    except (ValueError, RecursionError):
        return text
    return parsed if isinstance(parsed, dict | list) else text
