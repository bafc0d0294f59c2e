"""How long a body may take to arrive, in the time of the event loop."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from burnish.serve.requests import BodyRefused, read_body
from burnish.serve.settings import Settings

SETTINGS = Settings(body_seconds=0.1, max_bytes=1000)


async def send(pauses: Sequence[float], *, part: bytes, settings: Settings = SETTINGS) -> bytes:
    """Send a part after each pause, and read what comes of it."""
    left = [*pauses]

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(left.pop(0))
        return {"type": "http.request", "body": part, "more_body": bool(left)}

    return await read_body({"headers": []}, receive, settings)


def test_a_body_in_parts_is_put_together() -> None:
    assert asyncio.run(send([0, 0.01, 0], part=b"ab")) == b"ababab"


def test_a_body_that_drips_is_refused_although_every_part_is_in_time() -> None:
    with pytest.raises(BodyRefused) as caught:
        asyncio.run(send([0.06] * 20, part=b"a"))
    assert caught.value.reply.status == 408
    assert b"0.1 seconds" in caught.value.reply.body


def test_a_large_body_has_more_time() -> None:
    settings = replace(SETTINGS, max_bytes=10**6)
    assert len(asyncio.run(send([0.04] * 5, part=b"a" * 20_000, settings=settings))) == 100_000


def test_a_body_that_is_too_large_is_refused_as_soon_as_it_is() -> None:
    with pytest.raises(BodyRefused) as caught:
        asyncio.run(send([0] * 20, part=b"a" * 100))
    assert caught.value.reply.status == 413
