"""A real HTTP server on loopback that answers as it is told and keeps what it was sent."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@dataclass
class Inbox:
    url: str
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """What the next requests are answered; 200 when there is nothing left."""
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    """Answers wait for it."""


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    found = Inbox("")
    found.gate.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.requests.append((dict(self.headers), body))
            found.gate.wait(10)
            status, headers = found.answers.pop(0) if found.answers else (200, {})
            self.send_response(status)
            for name, value in {"Content-Length": "0", **headers}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_port}/services/T0/XOXB-TOKEN"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield found
    found.gate.set()
    server.shutdown()
    server.server_close()
    thread.join()
