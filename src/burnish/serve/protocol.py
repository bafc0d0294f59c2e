"""HTTP/1.1 on a connection: limits on time and size of a request's head, and a short way for whole predictions."""

import asyncio
from time import perf_counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from burnish.serve.app import Api
from burnish.serve.jobs import HttpReply, problem

_HEADER_SECONDS = 10.0
_MOST_HEAD_BYTES = 64 << 10
_MOST_HEADERS = 100
_LONGEST_ADDRESS = 8 << 10
_MOST_PIPELINED = 1_000
_LINGER_SECONDS = 1.0
"""How long a client that is refused may still send: it could not read the answer from a connection that is gone."""
_STILL_SENDING = (414, 429, 431)


class _TooLarge(Exception):
    """Stops the parser; the reply is with the protocol."""


class PatientProtocol(HttpToolsProtocol):
    """HTTP/1.1 with limits on the time and the size of headers, and with answers to clients that sent all.

    A request for predictions that arrives as a whole is answered without a task of its own; any other by the ASGI way.
    The parser joins what it has of a header with every further part of it: without limits, a header of many megabytes
    keeps all other clients waiting.
    """

    _timer: asyncio.TimerHandle | None = None
    _refusal: HttpReply | None = None
    _has_head = False
    _num_headers = 0
    _head_bytes = 0
    _pending_bytes = 0
    """What came since headers, or a part of a body, were complete."""
    _path: str | None = None
    """Where the request asks whose headers are complete, while its body may still come with the same bytes."""
    _body = b""

    def connection_made(self, transport: Any) -> None:
        """Wait for headers."""
        super().connection_made(transport)
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        """Take what came; a request that is not complete with it goes the ASGI way."""
        if self._refusal is not None:
            return
        self._pending_bytes += len(data)
        super().data_received(data)
        if self._refusal is None and self._pending_bytes > _MOST_HEAD_BYTES:
            self._refusal = _too_many_bytes()
            self._close_with(self._refusal)
        if self._refusal is not None:
            return
        if self._path is not None:
            self._path = None
            super().on_headers_complete()
            if self._body:
                super().on_body(self._body)
        is_answered = self.cycle is None or self.cycle.response_complete
        if is_answered and self._timer is None and self.timeout_keep_alive_task is None:
            self._await_headers()  # any byte ends the time that a connection may be idle

    def on_message_begin(self) -> None:
        """Begin to count."""
        self._has_head = False
        self._num_headers = self._head_bytes = self._pending_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Refuse an address that is too long."""
        super().on_url(url)
        if len(self.url) > _LONGEST_ADDRESS:
            self._stop(problem(414, f"the address has more than {_LONGEST_ADDRESS:,} bytes; send rows in the body"))

    def on_header(self, name: bytes, value: bytes) -> None:
        """Refuse headers that are too long or too many; trailers count, and say nothing about the request."""
        self._num_headers += 1
        self._head_bytes += len(name) + len(value)
        if self._num_headers > _MOST_HEADERS:
            self._stop(problem(431, f"the request has more than {_MOST_HEADERS} headers"))
        if self._head_bytes > _MOST_HEAD_BYTES:
            self._stop(_too_many_bytes())
        if not self._has_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Stop waiting."""
        self._has_head = True
        self._pending_bytes = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if len(self.pipeline) >= _MOST_PIPELINED:
            self._stop(
                problem(429, f"more than {_MOST_PIPELINED:,} requests wait on this connection; read the answers")
            )
        is_free = self.cycle is None or self.cycle.response_complete
        # An answer on the short way is written at once, which a client that does not read would pile up.
        if is_free and not self.expect_100_continue and not self.flow.write_paused:
            self._path, self._body = self._api.direct_path(self.parser.get_method(), self.url, self.headers), b""
        if self._path is None:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Keep the body of a request that may be complete soon."""
        self._pending_bytes = 0
        if self._path is None:
            super().on_body(body)
        else:
            self._body += body

    def on_message_complete(self) -> None:
        """Answer a request that came as a whole."""
        if self._path is None:
            super().on_message_complete()
            return
        path, self._path = self._path, None
        is_kept = self.parser.get_http_version() != "1.0" and self.parser.should_keep_alive()
        self.cycle = Direct(self, path, self._body, is_kept=is_kept)  # type: ignore[assignment]  # what uvicorn asks it
        reply = self._api.ask(path, self.headers, self._body, waiter=self.cycle)
        if reply is not None:
            self.cycle.set_result(reply)  # type: ignore[attr-defined]  # it is a Direct

    def on_response_complete(self) -> None:
        """Read no more requests while some of this connection wait, or they would pile up."""
        super().on_response_complete()
        if self.pipeline:
            self.flow.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio allows it
        """Keep the connection of a client that has sent its request and waits for the answer."""
        if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
            return False
        self.cycle.keep_alive = False
        return True

    def send_400_response(self, msg: str) -> None:
        """Say it in JSON, as everything else; a request that is too large has stopped the parser too."""
        if self._refusal is None:
            self._refusal = problem(400, "this is not an HTTP/1.1 request")
        self._close_with(self._refusal)

    @property
    def _api(self) -> Api:
        return self.config.app  # type: ignore[return-value]  # given by run_server

    def _await_headers(self) -> None:
        self._timer = self.loop.call_later(_HEADER_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._close_with(problem(408, f"no request arrived within {_HEADER_SECONDS:g} seconds"))

    def _stop(self, reply: HttpReply) -> None:
        """Leave the parser, from within; what called it then sends the reply."""
        self._refusal = reply
        raise _TooLarge

    def _close_with(self, reply: HttpReply) -> None:
        """Write the last answer of this connection, and close it when the client has had the time to read it."""
        self._path = None
        self.pipeline.clear()
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self._timer is not None:
            self._timer.cancel()
        self.transport.write(_written(reply, is_kept=False))
        if reply.status in _STILL_SENDING:
            self._timer = self.loop.call_later(_LINGER_SECONDS, self.transport.close)
        else:
            self.transport.close()


class Direct:
    """A request that waits for its answer: the connection as what a job resolves, and as uvicorn sees a request."""

    def __init__(self, protocol: PatientProtocol, path: str, body: bytes, *, is_kept: bool) -> None:
        self.keep_alive = is_kept
        self.response_complete = self.disconnected = self.more_body = False
        self.message_event = self  # uvicorn sets it when the client is gone
        self._protocol, self._path, self._body, self._began = protocol, path, body, perf_counter()

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Where the connection lives."""
        return self._protocol.loop

    def done(self) -> bool:
        """Tell whether nobody waits any more."""
        return self.disconnected or self.response_complete or self._protocol.transport.is_closing()

    def set(self) -> None:
        """Nothing waits for events here."""

    def set_result(self, reply: HttpReply) -> None:
        """Write the answer."""
        protocol, api = self._protocol, self._protocol._api
        self.keep_alive = self.keep_alive and not api.is_draining
        self.response_complete = True
        protocol.transport.write(_written(reply, is_kept=self.keep_alive))
        if not self.keep_alive:
            protocol.transport.close()
        protocol.on_response_complete()
        api.note(self._path, reply, self._body, seconds=perf_counter() - self._began)


def _too_many_bytes() -> HttpReply:
    return problem(431, f"the headers have more than {_MOST_HEAD_BYTES:,} bytes; send rows in the body")


def _written(reply: HttpReply, *, is_kept: bool) -> bytes:
    head = b"".join([b"%b: %b\r\n" % each for each in reply.headers(is_last=not is_kept)])
    return b"%b%b\r\n%b" % (STATUS_LINE[reply.status], head, reply.body)
