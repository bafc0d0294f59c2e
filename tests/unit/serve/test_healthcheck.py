"""The health check of the image: a server that answers, one that does not, and a container that is no server."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from burnish.serve.healthcheck import check_health


class _Health(BaseHTTPRequestHandler):
    code = 200

    def log_message(self, *_: object) -> None:
        return

    def do_GET(self) -> None:
        self.send_response(self.code if self.path == "/health/ready" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()


@pytest.fixture
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    handler = type("Handler", (_Health,), {"code": getattr(request, "param", 200)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("host", [[], ["--host", "0.0.0.0"], ["--host=127.0.0.1"]])
def test_a_server_that_answers_is_healthy(port: int, host: list[str]) -> None:
    words = ["python", "/opt/burnish/bin/burnish", "serve", "runs/a", *host]
    assert check_health([*words, "--port", str(port)], {}) == 0
    assert check_health([*words, f"--port={port}"], {}) == 0
    assert check_health(words, {"AIP_HTTP_PORT": str(port)}) == 0


@pytest.mark.parametrize("port", [503], indirect=True)
def test_a_server_that_is_not_ready_is_not_healthy(port: int) -> None:
    assert check_health(["burnish", "serve", "--port", str(port)], {}) == 1


def test_a_server_that_does_not_answer_is_not_healthy(port: int) -> None:
    assert check_health(["burnish", "serve", "--port", "1"], {}) == 1


def test_a_container_that_serves_nothing_is_healthy() -> None:
    assert check_health(["burnish", "train", "a.yaml"], {}) == 0
