"""Draws and collates batches ahead of whoever learns from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from burnish.data.batching.ahead import Ahead
from burnish.data.batching.batches import BatchSlice, BatchStream, Cursor

B = TypeVar("B")


class Prefetch(Generic[B]):
    """Draw and collate ahead of the consumer; its cursor is the place after the last batch that was consumed."""

    def __init__(self, stream: BatchStream, collate: Callable[[BatchSlice], B], *, depth: int = 2) -> None:
        self._cursor = stream.cursor
        self._ahead = Ahead(_collated(stream, collate), depth=depth)

    @property
    def cursor(self) -> Cursor:
        """The place to go on from: batches that were only prepared do not count."""
        return Cursor(**self._cursor)

    def draw(self) -> tuple[BatchSlice, B]:
        """Give the next batch; an error of drawing or collating rises here."""
        item = next(self._ahead, None)
        assert item is not None, "nothing is drawn after close"
        drawn, batch = item
        self._cursor = drawn.cursor_after
        return drawn, batch

    def close(self) -> None:
        """Stop preparing; after that nothing can be drawn."""
        self._ahead.close()

    def __enter__(self) -> Prefetch[B]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _collated(stream: BatchStream, collate: Callable[[BatchSlice], B]) -> Iterator[tuple[BatchSlice, B]]:
    while True:
        drawn = stream.draw()
        yield drawn, collate(drawn)
