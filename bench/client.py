"""A client for one server: requests at random times of a fixed rate on as many connections as it takes (open loop),
or from a fixed number of clients that each wait for their answer (closed loop; a rate like `32x` means 32 clients)."""

import asyncio
import json
import random
import sys
import time
from typing import Any

import uvloop

_MOST_CONNECTIONS = 400
LOST = -1
"""The status of a request that was sent on an open connection and never answered; one that was not sent has 0."""


class Connection(asyncio.Protocol):
    """HTTP/1.1 with one request at a time."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.buffer = b""
        self.done: asyncio.Future[tuple[int, bytes, bool]] | None = None

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found or self.done is None:
            return
        lowered = head.lower()
        if b"content-length:" in lowered:
            length = int(lowered.split(b"content-length:")[1].split(b"\r\n")[0])
            if len(body) < length:
                return
        elif not body.endswith(b"0\r\n\r\n"):
            return
        self.buffer, done, self.done = b"", self.done, None
        if not done.done():
            done.set_result((int(head[9:12]), body, b"connection: close" in lowered))

    def connection_lost(self, error: Exception | None) -> None:
        if self.done is not None and not self.done.done():
            self.done.set_result((LOST, b"", True))


class Client:
    def __init__(self, port: int, path: str) -> None:
        self.port, self.path, self.count = port, path, 0
        self.free: list[Connection] = []
        self.loop = asyncio.get_running_loop()

    async def ask(self, body: bytes) -> tuple[int, bytes]:
        while self.free and self.free[-1].transport.is_closing():
            self.free.pop()
            self.count -= 1
        if self.free:
            connection = self.free.pop()
        elif self.count >= _MOST_CONNECTIONS:
            return 0, b""
        else:
            self.count += 1
            try:
                _, connection = await self.loop.create_connection(Connection, "127.0.0.1", self.port)
            except OSError:
                self.count -= 1
                return 0, b""
        connection.done = self.loop.create_future()
        head = f"POST {self.path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        head += f"content-length: {len(body)}"
        connection.transport.write(head.encode() + b"\r\n\r\n" + body)
        status, answer, is_closed = await connection.done
        if is_closed:
            connection.transport.close()
            self.count -= 1
        else:
            self.free.append(connection)
        return status, answer


async def run(
    port: int, path: str, bodies: list[bytes], *, rate: float, seconds: float, seed: int
) -> list[tuple[int, float]]:
    """Give (status, seconds from when it was due) of every request."""
    draw, client, found = random.Random(seed), Client(port, path), []
    began = time.perf_counter()

    async def one(due: float, body: bytes) -> None:
        try:
            status, _ = await asyncio.wait_for(client.ask(body), 5)
        except TimeoutError:
            status = 0
        found.append((status, time.perf_counter() - due))

    due, tasks = began, []
    while due - began < seconds:
        due += draw.expovariate(rate)
        wait = due - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.ensure_future(one(due, draw.choice(bodies))))
    await asyncio.gather(*tasks)
    return found


async def run_closed(
    port: int, path: str, bodies: list[bytes], *, clients: int, seconds: float, seed: int
) -> list[tuple[int, float]]:
    """Give (status, seconds) of every request of clients that ask again as soon as they are answered."""
    draw, client, found = random.Random(seed), Client(port, path), []
    end = time.perf_counter() + seconds

    async def one() -> None:
        while (began := time.perf_counter()) < end:
            status, _ = await client.ask(draw.choice(bodies))
            found.append((status, time.perf_counter() - began))

    await asyncio.gather(*(one() for _ in range(clients)))
    return found


if __name__ == "__main__":
    port, path, file, rate, seconds, seed = sys.argv[1:]
    with open(file, "rb") as stream:
        lines = stream.read().splitlines()
    shared = {"seconds": float(seconds), "seed": int(seed)}
    if rate.endswith("x"):
        answers = uvloop.run(run_closed(int(port), path, lines, clients=int(rate[:-1]), **shared))
    else:
        answers = uvloop.run(run(int(port), path, lines, rate=float(rate), **shared))
    times = sorted(took for status, took in answers if status == 200)
    share = len(times) / len(answers)
    p50, p99 = (times[int(len(times) * q)] if times else 99.0 for q in (0.5, 0.99))
    print(json.dumps({"rate": len(answers) / float(seconds), "ok": share, "p50": p50, "p99": p99}))
