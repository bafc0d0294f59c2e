"""Mixed traffic from a process of its own, more than a server can take; writes what came of each request."""

import asyncio
import json
import random
import sys
import time

import uvloop

from bench.client import LOST, Client
from tests.harness.server import some_ride, some_text


async def run(port: int, *, seconds: float, workers: int, rows: int, seed: int) -> None:
    """Ask with so many clients at once, each the next thing as soon as it has an answer."""
    end = time.monotonic() + seconds
    await asyncio.gather(*(_ask(port, random.Random(seed + each), end, rows=rows) for each in range(workers)))


async def _ask(port: int, draw: random.Random, end: float, *, rows: int) -> None:
    """Ask on one connection, which is never idle: a server may close one that is while a request is on its way."""
    client = Client(port, "")
    while time.monotonic() < end:
        is_text = draw.random() < 0.6
        model, make = ("texts", some_text) if is_text else ("rides", some_ride)
        asked = [make(draw) for _ in range(draw.choice([1, rows]))]
        began = time.perf_counter()
        client.path = f"/v1/models/{model}:predict"
        status, answer = await client.ask(json.dumps({"instances": asked}).encode())
        found = {"status": status, "seconds": time.perf_counter() - began, "model": model}
        if status == 200 and draw.random() < 0.2:
            found |= {"rows": asked, "answer": json.loads(answer)["predictions"]}
        sys.stdout.write(json.dumps(found) + "\n")
        if status in (0, LOST):  # nobody listens any more
            return
        if status == 503 and client.free:
            await asyncio.sleep(0.05 * draw.random())


if __name__ == "__main__":
    port, seconds, workers, rows = sys.argv[1:]
    uvloop.run(run(int(port), seconds=float(seconds), workers=int(workers), rows=int(rows), seed=0))
