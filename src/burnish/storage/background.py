"""Does one piece of work at a time in another thread; what it says is heard in the thread that asks."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

T = TypeVar("T")

Work = Callable[[Callable[[T], None]], None]
"""Is given a function to say things with."""


@dataclass(frozen=True)
class _Finished:
    error: BaseException | None


class Background(Generic[T]):
    """Begin work, hear what it says, and wait for its end; an error of the work rises at whoever hears of its end."""

    def __init__(self) -> None:
        self._said: SimpleQueue[T | _Finished] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def begin(self, work: Work[T]) -> None:
        """Start; the work before must have been heard to its end."""
        assert self._thread is None, "one piece of work at a time"
        self._thread = threading.Thread(target=_run, args=(work, self._said), name="burnish-background", daemon=True)
        self._thread.start()

    def heard(self) -> Iterator[T]:
        """Yield what was said until now, without waiting."""
        while self._thread is not None:
            try:
                said = self._said.get_nowait()
            except Empty:
                return
            yield from self._taken(said)

    def finished(self) -> Iterator[T]:
        """Yield what is said until the work is over."""
        while self._thread is not None:
            yield from self._taken(self._said.get())

    def _taken(self, said: T | _Finished) -> Iterator[T]:
        if not isinstance(said, _Finished):
            yield said
            return
        assert self._thread is not None
        self._thread.join()
        self._thread = None
        if said.error is not None:
            raise said.error


def _run(work: Work[T], said: "SimpleQueue[T | _Finished]") -> None:
    try:
        work(said.put)
    except BaseException as error:  # carried over to whoever waits
        said.put(_Finished(error))
    else:
        said.put(_Finished(None))
