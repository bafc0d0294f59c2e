"""What a client without a key may send to a server: heads without end, and the names of other hosts."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from tests.adversary.judge import IS_FULL
from tests.adversary.mutate import mutate_bytes
from tests.adversary.seeds import Seeds, seeds
from tests.harness.server import RunningServer, running_server

pytestmark = pytest.mark.timeout(3600 if IS_FULL else 300)

BEGIN = b"GET /health/live HTTP/1.1\r\n"
HOST = b"host: 127.0.0.1\r\n"
CHUNKED = b"POST /v1/predict HTTP/1.1\r\n" + HOST + b"transfer-encoding: chunked\r\n\r\n2\r\n[]\r\n"
ROWS = json.dumps({"instances": [{"a": 0.9, "b": 0.8, "c": "red"}]}).encode()


@pytest.fixture(scope="module")
def server(original: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    folder = tmp_path_factory.mktemp("server")
    words = (f"run={original}", "--deadline", "30")
    with running_server(*words, directory=folder, log=folder / "log") as running:
        yield running


def exchange(server: RunningServer, parts: Sequence[bytes], *, seconds: float = 30) -> bytes:
    """Send what a server may refuse before it is complete, and give all that it answers until it closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as connection:
        with suppress(OSError):  # it may close before all is sent
            for part in parts:
                connection.sendall(part)
        return receive(connection)


def receive(connection: socket.socket) -> bytes:
    answer = b""
    with suppress(OSError):
        while found := connection.recv(1 << 16):
            answer += found
    return answer


def ask(server: RunningServer) -> float:
    """Let an ordinary client ask for a prediction; give the seconds until it has its answer."""
    began = time.perf_counter()
    head = b"POST /v1/predict HTTP/1.1\r\n%bconnection: close\r\ncontent-length: %d\r\n\r\n" % (HOST, len(ROWS))
    assert b"200 OK" in exchange(server, [head + ROWS])
    return time.perf_counter() - began


def worst_while(server: RunningServer, attack: Callable[[], object]) -> float:
    """Give the longest time that an ordinary client waited while others did their worst."""
    others = [threading.Thread(target=attack) for _ in range(2)]
    for each in others:
        each.start()
    waited = [ask(server)]
    while any(each.is_alive() for each in others):
        waited.append(ask(server))
    return max(waited)


ENDLESS = {
    "a value": (BEGIN + HOST + b"a: ", b"x"),
    "a name": (BEGIN + HOST, b"x"),
    "an address": (b"GET /", b"x"),
    "a method": (b"", b"G"),
    "small headers": (BEGIN + HOST, b"a: b\r\n"),
    "folded lines": (BEGIN + HOST + b"a: b", b"\r\n c"),
    "a trailer": (CHUNKED + b"0\r\na: ", b"x"),
    "trailers": (CHUNKED + b"0\r\n", b"a: b\r\n"),
    "an extension of a chunk": (CHUNKED + b"2;", b"x"),
    "blank lines": (b"", b"\r\n"),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_a_head_of_25_megabytes_keeps_no_other_client_waiting(server: RunningServer, what: str) -> None:
    begin, more = ENDLESS[what]
    block = more * ((1 << 16) // len(more))

    def attack() -> None:
        answers.append(exchange(server, [begin, *[block] * 400]))

    answers: list[bytes] = []
    quiet = max(ask(server) for _ in range(20))
    assert worst_while(server, attack) < max(20 * quiet, 1.0)
    assert all(answer.startswith(b"HTTP/1.1 4") for answer in answers if answer)


@pytest.mark.parametrize("step", [1 << 20, 1000, 77])
@pytest.mark.parametrize(
    ("head", "status"),
    [
        (BEGIN + HOST + b"a: " + b"x" * 60_000 + b"\r\n\r\n", 200),
        (BEGIN + HOST + b"a: " + b"x" * 66_000 + b"\r\n\r\n", 431),
        (BEGIN + HOST + b"a: bcd\r\n" * 98 + b"\r\n", 200),
        (BEGIN + HOST + b"a: bcd\r\n" * 101 + b"\r\n", 431),
        (BEGIN + HOST + (b"x" * 30_000 + b": \r\n") * 3 + b"\r\n", 431),
        (b"GET /health/live?" + b"x" * 8_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 200),
        (b"GET /health/live?" + b"x" * 9_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 414),
    ],
    ids=["long", "too long", "many", "too many", "long names", "address", "long address"],
)
def test_the_same_limits_hold_however_a_head_arrives(
    server: RunningServer, head: bytes, status: int, step: int
) -> None:
    head = head.replace(HOST, HOST + b"connection: close\r\n")
    answer = exchange(server, [head[place : place + step] for place in range(0, len(head), step)])
    assert answer.startswith(b"HTTP/1.1 %d" % status)
    if status != 200:
        assert "header" in json.loads(answer.partition(b"\r\n\r\n")[2])["error"] or status == 414


def test_a_body_in_many_chunks_is_no_head(server: RunningServer) -> None:
    head = b"POST /v1/predict HTTP/1.1\r\n%btransfer-encoding: chunked\r\nconnection: close\r\n\r\n" % HOST
    body = ROWS + b" " * 200_000
    chunks = [b"10\r\n%b\r\n" % body[place : place + 16].ljust(16) for place in range(0, len(body), 16)]
    sent = b"".join(chunks)
    pieces = [sent[place : place + 1000] for place in range(0, len(sent), 1000)]
    assert exchange(server, [head, *pieces, b"0\r\n\r\n"]).startswith(b"HTTP/1.1 200")


def test_trailers_say_nothing_about_a_request(server: RunningServer) -> None:
    head = b"POST /v1/predict HTTP/1.1\r\n%btransfer-encoding: chunked\r\nconnection: close\r\n\r\n" % HOST
    body = b"%x\r\n%b\r\n0\r\ncontent-type: image/png\r\n\r\n" % (len(ROWS), ROWS)
    assert exchange(server, [head + body]).startswith(b"HTTP/1.1 200")


def test_requests_that_are_not_waited_for_are_all_answered_in_their_order(server: RunningServer) -> None:
    post = b"POST /v1/predict HTTP/1.1\r\n%bcontent-length: %d\r\n\r\n%b" % (HOST, len(ROWS), ROWS)
    get = b"GET /v1/models HTTP/1.1\r\n%b\r\n" % HOST
    last = get.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
    answer = exchange(server, [(post + get) * 300, last])
    assert answer.count(b"HTTP/1.1 200") == 601
    first, second = answer.find(b'"predictions"'), answer.find(b'"models"')
    assert 0 < first < second


def resident_bytes(server: RunningServer) -> int:
    words = Path(f"/proc/{server.process.pid}/statm").read_text().split()
    return int(words[1]) * 4096


@pytest.mark.parametrize("does_read", [True, False])
def test_requests_that_come_faster_than_answers_are_not_piled_up(server: RunningServer, does_read: bool) -> None:
    request = b"GET /metrics HTTP/1.1\r\n%b\r\n" % HOST
    before = resident_bytes(server)
    with socket.create_connection(("127.0.0.1", server.port), timeout=3) as connection:
        drained = threading.Thread(target=receive, args=[connection])
        if does_read:
            drained.start()
        with suppress(OSError):
            for _ in range(200):
                connection.sendall(request * 1000)
        grown = resident_bytes(server) - before
        connection.shutdown(socket.SHUT_RDWR)
    if does_read:
        drained.join()
    assert grown < 100 << 20
    assert ask(server) < 30


@seeds(few=150, full=20_000)
def test_mutated_requests(server: RunningServer, seeds: Seeds) -> None:
    @seeds.each("request")
    def case(draw: Random) -> None:
        post = b"POST /v1/predict HTTP/1.1\r\n%bcontent-length: %d\r\n\r\n%b" % (HOST, len(ROWS), ROWS)
        sent = draw.choice([BEGIN + HOST + b"\r\n", CHUNKED + b"0\r\na: b\r\n\r\n", post, post + post])
        for _ in range(draw.randint(1, 3)):
            sent = mutate_bytes(sent, draw)
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            answer = receive(connection)
        assert not answer or answer.startswith(b"HTTP/1.1 "), answer[:80]
        assert b"HTTP/1.1 500" not in answer
        assert server.process.poll() is None

    assert ask(server) < 30


def asked_as(server: RunningServer, *hosts: str, path: str = "/v1/models", version: str = "1.1") -> bytes:
    lines = "".join(f"host: {host}\r\n" for host in hosts)
    return exchange(server, [f"GET {path} HTTP/{version}\r\n{lines}connection: close\r\n\r\n".encode()])


HERE = ("localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.0.0.1:8080", "localhost:1", "[::1]", "[::1]:80")
ELSEWHERE = (
    *("evil.example", "evil.example:8080", "localhost.evil.example", "evil.example:localhost", "127.0.0.1.nip.io"),
    *(
        "user@localhost",
        "127.0.0.1@evil.example",
        "localhost/evil.example",
        "[::1].evil.example",
        "[evil]",
        "",
        "10.0.0.1",
    ),
)


@pytest.mark.parametrize("host", HERE)
def test_a_server_on_this_machine_answers_under_its_names(server: RunningServer, host: str) -> None:
    assert asked_as(server, host).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("host", ELSEWHERE)
def test_a_page_that_points_its_name_at_this_machine_reads_nothing(server: RunningServer, host: str) -> None:
    for path in ("/", "/v1/models", "/v1/signature", "/openapi.json", "/metrics", "/page/page.js"):
        answer = asked_as(server, host, path=path)
        assert answer.startswith(b"HTTP/1.1 421"), path
        assert b"under the name" in answer


def test_no_row_is_read_and_none_predicted_under_another_name(server: RunningServer) -> None:
    assert b"421" in asked_as(server, "evil.example", path="/v1/models/run/examples")[:15]
    head = b"POST /v1/predict HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(
        ROWS
    )
    assert exchange(server, [head + ROWS]).startswith(b"HTTP/1.1 421")
    assert b"421" in asked_as(server, "localhost", "evil.example")[:15]
    assert b"421" in asked_as(server, "evil.example", "localhost")[:15]


def test_health_is_told_to_whoever_probes(server: RunningServer) -> None:
    assert asked_as(server, "10.1.2.3:8080", path="/health/ready").startswith(b"HTTP/1.1 200")
    assert asked_as(server, path="/v1/models", version="1.0").startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "path", ["/v1/models/", "/health/live/", "/page", "//evil.example/", "/v1/models/run/examples/"]
)
def test_nobody_is_sent_to_the_host_that_a_request_named(server: RunningServer, path: str) -> None:
    answer = asked_as(server, "localhost:1234", path=path)
    assert b"location" not in answer.partition(b"\r\n\r\n")[0].lower()
    assert answer.startswith(b"HTTP/1.1 404")
