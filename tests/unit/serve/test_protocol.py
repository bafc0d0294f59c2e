"""How long a connection may keep a server waiting, with a loop whose clock the test moves."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from uvicorn import Config
from uvicorn.server import ServerState

from burnish.serve.jobs import HttpReply
from burnish.serve.protocol import PatientProtocol

HEAD = b"POST /v1/predict HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n"


@dataclass(eq=False)
class Timer:
    due: float
    call: Callable[[], None]
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True


@dataclass
class Clock:
    """As much of an event loop as a connection asks for."""

    now: float = 0.0
    timers: list[Timer] = field(default_factory=list)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        self.timers.append(Timer(self.now + seconds, call))
        return self.timers[-1]

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        for timer in [each for each in self.timers if each.due <= self.now and not each.is_cancelled]:
            self.timers.remove(timer)
            timer.call()


@dataclass
class Wire:
    """As much of a transport."""

    written: bytes = b""
    is_closed: bool = False

    def get_extra_info(self, _name: str) -> None:
        return None

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def resume_reading(self) -> None:
        """Nothing is paused."""


class Answering:
    """An application that answers every prediction at once."""

    is_draining = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("only whole requests for predictions are sent here")

    def direct_path(self, method: bytes, url: bytes, _headers: object) -> str | None:
        return url.decode() if method == b"POST" else None

    def ask(self, *_request: object, **_options: object) -> HttpReply:
        return HttpReply(200, b"{}")

    def note(self, *_request: object, **_options: object) -> None:
        """Nothing is counted."""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def connection(clock: Clock) -> PatientProtocol:
    config = Config(Answering(), log_config=None, timeout_keep_alive=75)  # type: ignore[arg-type]  # an ASGI application
    found = PatientProtocol(config, ServerState(), {}, _loop=clock)  # type: ignore[arg-type]  # what it needs of a loop
    found.connection_made(Wire())
    return found


@pytest.mark.parametrize("num_before", [0, 1, 3])
@pytest.mark.parametrize("part", [b"POST", HEAD[:40], b"\r\n"])
def test_a_request_that_is_begun_and_not_sent_is_shown_out(
    connection: PatientProtocol, clock: Clock, num_before: int, part: bytes
) -> None:
    wire: Any = connection.transport
    for _ in range(num_before):
        connection.data_received(HEAD + b"[]")
        clock.pass_time(60)  # a connection may be idle for longer than a request may take
    assert wire.written.count(b"200 OK") == num_before
    if not num_before:
        clock.pass_time(9)  # of which the first request has as much less
    connection.data_received(part)
    clock.pass_time(11 if num_before else 1)
    assert wire.is_closed
    assert wire.written.count(b"408 Request Timeout") == 1


def test_a_byte_now_and_then_does_not_keep_a_connection(connection: PatientProtocol, clock: Clock) -> None:
    wire: Any = connection.transport
    connection.data_received(HEAD + b"[]")
    for byte in b"POST /v1":
        if not wire.is_closed:
            connection.data_received(bytes([byte]))
            clock.pass_time(9)
    assert wire.is_closed


def test_requests_that_come_whole_or_nearly_so_are_answered_for_as_long_as_they_come(
    connection: PatientProtocol, clock: Clock
) -> None:
    wire: Any = connection.transport
    for _ in range(20):
        connection.data_received(HEAD[:20])
        clock.pass_time(8)
        connection.data_received(HEAD[20:] + b"[]")
        clock.pass_time(8)
    assert (wire.written.count(b"200 OK"), wire.is_closed) == (20, False)
