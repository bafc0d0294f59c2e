"""A bucket of Google Cloud Storage on this machine: the JSON API with preconditions, resumable uploads and faults."""

import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_STEP = 1 << 18
"""Resumable uploads are taken in multiples of this."""


@dataclass
class FakeBucket:
    """What it holds, what it was asked, and what goes wrong."""

    name: str = "tank"
    objects: dict[str, bytes] = field(default_factory=dict)
    generations: dict[str, int] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    uploads: dict[str, tuple[str, bytearray]] = field(default_factory=dict)
    fail_share: float = 0.0
    """How many of the uploads fail: with 503, or with a connection that is cut."""
    is_away: bool = False
    delay_seconds: float = 0.0
    denied: bool = False
    short_chunks: bool = False
    """Whether a resumable upload takes only a part of each piece (308 with a Range)."""
    dice: Random = field(default_factory=lambda: Random(7))
    lock: threading.RLock = field(default_factory=threading.RLock)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def store(self, name: str, content: bytes) -> None:
        self.objects[name] = content
        self.generations[name] = self.generations.get(name, 0) + 1

    def describe(self, name: str) -> dict[str, Any]:
        content = self.objects[name]
        return {
            "kind": "storage#object",
            "name": name,
            "bucket": self.name,
            "size": str(len(content)),
            "generation": str(self.generations[name]),
            "md5Hash": base64.b64encode(hashlib.md5(content).digest()).decode(),
            "etag": f"e{self.generations[name]}",
            "updated": "2026-01-01T00:00:00.000Z",
            "timeCreated": "2026-01-01T00:00:00.000Z",
        }


@contextmanager
def fake_gcs(bucket: FakeBucket | None = None) -> Iterator[FakeBucket]:
    """Serve a bucket on a free port of this machine."""
    bucket = bucket or FakeBucket()
    handler = type("Handler", (_Handler,), {"bucket": bucket})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # a client that hangs up is no news
    bucket.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield bucket
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    bucket: FakeBucket
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        return

    def do_GET(self) -> None:
        self._serve(self._get)

    def do_POST(self) -> None:
        self._serve(self._post)

    def do_PUT(self) -> None:
        self._serve(self._post)

    def do_DELETE(self) -> None:
        self._serve(self._delete)

    def _serve(self, answer: Any) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(size) if size else b""
        self.parts = urlsplit(self.path)
        self.query = {key: values[0] for key, values in parse_qs(self.parts.query).items()}
        bucket = self.bucket
        with bucket.lock:
            bucket.requests.append(f"{self.command} {self.parts.path}")
        if bucket.delay_seconds:
            time.sleep(bucket.delay_seconds)
        if bucket.is_away:
            self._cut()
        elif bucket.denied:
            self._reply(403, {"error": {"code": 403, "message": "caller does not have storage.objects access"}})
        elif self._is_upload() and bucket.dice.random() < bucket.fail_share:
            self._cut() if bucket.dice.random() < 0.5 else self._reply(503, {"error": {"code": 503, "message": "busy"}})
        else:
            with bucket.lock:
                answer()

    def _is_upload(self) -> bool:
        return self.parts.path.startswith("/upload/")

    def _cut(self) -> None:
        self.close_connection = True
        self.connection.close()

    def _get(self) -> None:
        path = self.parts.path
        found = re.fullmatch(r"(/download)?/storage/v1/b/([^/]+)(?:/o(?:/(.+))?)?", path)
        if found is None or found[2] != self.bucket.name:
            self._missing()
        elif found[3] is not None:
            self._get_object(unquote(found[3]), is_media=bool(found[1]) or self.query.get("alt") == "media")
        elif path.endswith("/o"):
            self._list()
        else:
            self._reply(200, {"kind": "storage#bucket", "name": self.bucket.name})

    def _get_object(self, name: str, *, is_media: bool) -> None:
        if name not in self.bucket.objects:
            self._missing()
        elif not is_media:
            self._reply(200, self.bucket.describe(name))
        else:
            content = self.bucket.objects[name]
            wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
            part = content[int(wanted[1]) : int(wanted[2]) + 1 if wanted[2] else None] if wanted else content
            md5 = base64.b64encode(hashlib.md5(content).digest()).decode()
            self._send(206 if wanted else 200, part, {"X-Goog-Hash": f"md5={md5}"})

    def _list(self) -> None:
        prefix, delimiter = self.query.get("prefix", ""), self.query.get("delimiter")
        names = sorted(name for name in self.bucket.objects if name.startswith(prefix))
        prefixes = set()
        if delimiter:
            prefixes = {
                prefix + name[len(prefix) :].split(delimiter)[0] + delimiter
                for name in names
                if delimiter in name[len(prefix) :]
            }
            names = [name for name in names if delimiter not in name[len(prefix) :]]
        items = [self.bucket.describe(name) for name in names]
        self._reply(200, {"kind": "storage#objects", "items": items, "prefixes": sorted(prefixes)})

    def _post(self) -> None:
        found = re.fullmatch(r"/upload/storage/v1/b/([^/]+)/o", self.parts.path)
        if found is None or found[1] != self.bucket.name:
            self._missing()
        elif "upload_id" in self.query:
            self._take_piece(self.query["upload_id"])
        elif self.query.get("uploadType") == "resumable":
            name = json.loads(self.body)["name"]
            number = f"u{len(self.bucket.uploads)}"
            self.bucket.uploads[number] = (name, bytearray())
            place = f"{self.bucket.url}{self.parts.path}?uploadType=resumable&upload_id={number}"
            self._send(200, b"", {"Location": place})
        else:
            facts, content = _split_parts(self.body)
            self._commit(facts["name"], content)

    def _take_piece(self, number: str) -> None:
        name, taken = self.bucket.uploads[number]
        found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", self.headers["Content-Range"])
        assert found is not None
        assert int(found[1]) == len(taken), "a piece must follow the one before"
        piece = self.body
        is_last = found[3] != "*" and int(found[2]) + 1 == int(found[3])
        if self.bucket.short_chunks and len(piece) > _STEP:
            piece, is_last = piece[:_STEP], False
        taken += piece
        if is_last:
            self._commit(name, bytes(taken))
        else:
            self._send(308, b"", {"Range": f"bytes=0-{len(taken) - 1}"})

    def _commit(self, name: str, content: bytes) -> None:
        wanted = self.query.get("ifGenerationMatch")
        if wanted is not None and int(wanted) != (
            self.bucket.generations.get(name, 0) if name in self.bucket.objects else 0
        ):
            self._reply(412, {"error": {"code": 412, "message": "conditionNotMet"}})
            return
        self.bucket.store(name, content)
        self._reply(200, self.bucket.describe(name))

    def _delete(self) -> None:
        name = unquote(self.parts.path.partition("/o/")[2])
        if self.bucket.objects.pop(name, None) is None:
            self._missing()
        else:
            self._send(204, b"", {})

    def _missing(self) -> None:
        self._reply(404, {"error": {"code": 404, "message": "Not Found"}})

    def _reply(self, status: int, value: object) -> None:
        self._send(status, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _split_parts(body: bytes) -> tuple[dict[str, Any], bytes]:
    """Cut a multipart body into what the object is called and its bytes."""
    mark = body.split(b"\n", 1)[0].strip()
    _, facts, rest = body.split(mark, 2)
    content = (
        rest.replace(b"\r\n\r\n", b"\n\n", 1).split(b"\n\n", 1)[1]
        if b"\n\n" in rest[:200] or b"\r\n\r\n" in rest[:200]
        else rest
    )
    end = content.rfind(b"\n" + mark)
    facts_text = facts.replace(b"\r\n", b"\n").split(b"\n\n", 1)[1]
    return json.loads(facts_text), content[:end].removesuffix(b"\r")
