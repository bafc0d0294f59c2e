"""Runs an iterator ahead of its consumer, in one background thread."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from types import TracebackType
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class _Made(Generic[T]):
    item: T


@dataclass(frozen=True)
class _Over:
    error: BaseException


class Ahead(Generic[T]):
    """Iterate over items that are made up to `depth` in advance; an error of the maker rises at the consumer."""

    def __init__(self, items: Iterable[T], *, depth: int = 2) -> None:
        self._slots = threading.Semaphore(depth)
        self._made: SimpleQueue[_Made[T] | _Over] = SimpleQueue()
        self._closing = threading.Event()
        self._over: _Over | None = None
        self._thread = threading.Thread(
            target=_make,
            args=(iter(items), self._slots, self._made, self._closing),
            name="burnish-ahead",
            daemon=True,
        )
        self._thread.start()

    def __iter__(self) -> Ahead[T]:
        return self

    def __next__(self) -> T:
        if self._over is None:
            made = self._made.get()
            if isinstance(made, _Made):
                self._slots.release()
                return made.item
            self._over = made
        raise self._over.error

    def close(self) -> None:
        """Stop the thread and wait for it; items that were made ahead are dropped. Closing twice is harmless."""
        self._closing.set()
        self._slots.release()  # wakes a thread that waits for room
        self._thread.join()
        self._over = self._over or _Over(StopIteration())

    def __enter__(self) -> Ahead[T]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _make(
    items: Iterator[T],
    slots: threading.Semaphore,
    made: SimpleQueue[_Made[T] | _Over],
    closing: threading.Event,
) -> None:
    # A function, not a method: the thread must not keep a forgotten Ahead alive.
    while slots.acquire() and not closing.is_set():
        try:
            made.put(_Made(next(items)))
        except BaseException as error:  # carried over to the consumer, StopIteration included
            made.put(_Over(error))
            return
