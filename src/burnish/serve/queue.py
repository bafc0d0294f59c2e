"""Requests that wait: bounded by the time they would wait, and taken in batches of like length."""

from collections import deque
from collections.abc import Callable, Sequence
from math import exp
from threading import Condition
from time import perf_counter

from burnish.serve.cost import Cost
from burnish.serve.jobs import Chunk, Job

_MOST_PREPARED = 256
_MOST_BYTES = 1 << 18
"""How much is read and encoded at once; the rest is left to the next worker."""
_AT_FIRST = 2.0
"""Caution before anything is known: a machine may be busier than when it was measured."""
_MEMORY_SECONDS = 1.0
"""After so long, what was known about the speed counts for a third."""
_GROWTH, _FADE, _MOST_CAUTION = 0.3, 0.005, 8.0
"""How caution grows with a batch that comes late and fades with one in time; in balance at about one in a hundred."""


class JobQueue:
    """Hand out what arrived to be encoded, then chunks of like length to be computed."""

    def __init__(
        self,
        cost: Cost,
        *,
        budget: int,
        max_seconds: float,
        max_bytes: int,
        seconds_per_byte: float,
        now: Callable[[], float] = perf_counter,
    ) -> None:
        self._cost = cost
        self._budget = budget
        self._max_seconds = max_seconds
        self._max_bytes = max_bytes
        self._inbox: deque[Job] = deque()
        self._ready: list[Chunk] = []
        self._changed = Condition()
        self._is_closed = False
        self._is_reading = False
        self._bytes = 0.0
        self._known_seconds = seconds_per_byte * 1e4 / cost.num_workers
        self._known_bytes = 1e4
        self._caution = _AT_FIRST
        self._now = now
        self._busy_since = 0.0

    @property
    def waiting_bytes(self) -> float:
        """How much was accepted and is not computed yet."""
        return self._bytes

    @property
    def expected_wait(self) -> float:
        """Estimate in seconds how long what arrives now waits for what arrived before."""
        return self._bytes * self._known_seconds / self._known_bytes * self._caution

    def refusal(self, num_bytes: int) -> str | None:
        """Say why no more is taken; None if it is."""
        if self._is_closed:
            return "the server is shutting down"
        # A request that finds nobody waiting is taken, however long it is.
        if self._bytes and self.expected_wait > self._max_seconds:
            return f"the queue is full: an answer would take more than {self._max_seconds:g} seconds"
        if self._bytes and self._bytes + num_bytes > self._max_bytes:
            return f"the queue is full: it holds {self._bytes:,.0f} bytes of requests"
        return None

    def put(self, job: Job) -> None:
        """Let a request wait."""
        with self._changed:
            if not self._bytes:
                self._busy_since = self._now()
            self._bytes += len(job.payload)
            self._inbox.append(job)
            self._changed.notify()

    def add(self, chunks: Sequence[Chunk]) -> None:
        """Let what was encoded wait to be computed."""
        with self._changed:
            self._ready.extend(chunks)
            self._changed.notify_all()

    def take(self) -> tuple[list[Job], list[Chunk]]:
        """Wait for something to do: requests to prepare, or a batch to compute; nothing of either at the end."""
        with self._changed:
            while not (self._inbox or self._ready or self._is_closed):
                self._changed.wait()
            # In turn: reading costs nearly the same for one request as for many, and they gather during a batch.
            self._is_reading = bool(self._inbox) and not (self._ready and self._is_reading)
            return (self._unread(), []) if self._is_reading else ([], self._pick())

    def left(self, num_bytes: float, *, is_computed: bool = False) -> None:
        """Count down what was answered or refused, and learn the speed: whatever takes the time, it passes."""
        with self._changed:
            self._bytes = max(0.0, self._bytes - num_bytes)
            if is_computed:
                now = self._now()
                seconds, self._busy_since = now - self._busy_since, now
                kept = exp(-seconds / _MEMORY_SECONDS)
                self._known_seconds = kept * self._known_seconds + seconds
                self._known_bytes = kept * self._known_bytes + num_bytes

    def answered(self, jobs: Sequence[Job]) -> None:
        """Be more careful when answers come late although their requests were let in."""
        if jobs:
            now = self._now()
            late = sum(now > job.arrived + self._max_seconds for job in jobs) / len(jobs)
            self._caution *= 1 + _GROWTH * late - _FADE * (1 - late)
            self._caution = min(_MOST_CAUTION, max(1.0, self._caution))

    def close(self) -> None:
        """Take nothing more; what was accepted is still handed out."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _unread(self) -> list[Job]:
        taken = [self._inbox.popleft()]
        size = len(taken[0].payload)
        while self._inbox and len(taken) < _MOST_PREPARED and size < _MOST_BYTES:
            taken.append(self._inbox.popleft())
            size += len(taken[-1].payload)
        return taken

    def _pick(self) -> list[Chunk]:
        """Take the chunk that waits longest with others of like length, which share its batch at little padding."""
        if not self._ready:
            return []
        ready = sorted(self._ready, key=lambda chunk: chunk.length)
        first = min(range(len(ready)), key=lambda place: ready[place].turn)
        low, high = grow(ready, first, budget=self._budget, free_padding=self._cost.free_padding)
        self._ready = ready[:low] + ready[high:]
        return ready[low:high]


def grow(ready: Sequence[Chunk], first: int, *, budget: int, free_padding: float) -> tuple[int, int]:
    """Widen a batch around one of the chunks, which are sorted by length, to the side that needs less padding.

    It ends at the budget, or where padding would cost more than the batch that it saves.
    """
    low, high = first, first + 1
    count, tokens = len(ready[first].indices), ready[first].tokens
    width = ready[first].length
    while low > 0 or high < len(ready):
        shorter = width - ready[low - 1].length if low > 0 else float("inf")
        longer = (ready[high].length - width) * count if high < len(ready) else float("inf")
        place = low - 1 if shorter <= longer else high
        chunk = ready[place]
        width_then = max(width, chunk.length)
        size = width_then * (count + len(chunk.indices))
        if size > budget or size - tokens - chunk.tokens > free_padding:
            break
        low, high = min(low, place), max(high, place + 1)
        count, tokens, width = count + len(chunk.indices), tokens + chunk.tokens, width_then
    return low, high


def is_late(chunk: Chunk, *, now: float | None = None) -> bool:
    """Tell whether a request has waited for too long; one that is partly computed is finished."""
    return not chunk.job.pieces and (perf_counter() if now is None else now) > chunk.job.deadline
