"""HTTP/1.1 on a connection: patient with slow clients for a while, and quick with a prediction that arrives at once."""

import asyncio
from time import perf_counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from burnish.serve.app import Api
from burnish.serve.jobs import HttpReply, problem

_HEADER_SECONDS = 10.0


class PatientProtocol(HttpToolsProtocol):
    """HTTP/1.1 with a limit on the time until the headers are there, and with answers to clients that sent all.

    A request for predictions that arrives as a whole is answered without a task of its own; any other by the ASGI way.
    """

    _timer: asyncio.TimerHandle | None = None
    _path: str | None = None
    """Where the request asks whose headers are complete, while its body may still come with the same bytes."""
    _body = b""

    def connection_made(self, transport: Any) -> None:
        """Wait for headers."""
        super().connection_made(transport)
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        """Take what came; a request that is not complete with it goes the ASGI way."""
        super().data_received(data)
        if self._path is not None:
            self._path = None
            super().on_headers_complete()
            if self._body:
                super().on_body(self._body)
        is_answered = self.cycle is None or self.cycle.response_complete
        if is_answered and self._timer is None and self.timeout_keep_alive_task is None:
            self._await_headers()  # any byte ends the time that a connection may be idle

    def on_headers_complete(self) -> None:
        """Stop waiting."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if (self.cycle is None or self.cycle.response_complete) and not self.expect_100_continue:
            self._path, self._body = self._api.direct_path(self.parser.get_method(), self.url, self.headers), b""
        if self._path is None:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Keep the body of a request that may be complete soon."""
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
        """Say it in JSON, as everything else."""
        self._close_with(problem(400, "this is not an HTTP/1.1 request"))

    @property
    def _api(self) -> Api:
        return self.config.app  # type: ignore[return-value]  # given by run_server

    def _await_headers(self) -> None:
        self._timer = self.loop.call_later(_HEADER_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._close_with(problem(408, f"no request arrived within {_HEADER_SECONDS:g} seconds"))

    def _close_with(self, reply: HttpReply) -> None:
        self.transport.write(_written(reply, is_kept=False))
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


def _written(reply: HttpReply, *, is_kept: bool) -> bytes:
    head = b"".join([b"%b: %b\r\n" % each for each in reply.headers(is_last=not is_kept)])
    return b"%b%b\r\n%b" % (STATUS_LINE[reply.status], head, reply.body)
