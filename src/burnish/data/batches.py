"""Which examples come in which batch: a pure function of seed, epoch and lengths, and a position in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypedDict, TypeVar

import numpy as np

from burnish.data.ahead import Ahead
from burnish.data.draws import generator
from burnish.errors import CheckpointError, DataError
from burnish.spec.experiment import Batching

if TYPE_CHECKING:
    from burnish.spec.values import Array

B = TypeVar("B")

DEFAULT_EXAMPLES = 32
_BATCHES_IN_POOL = 128
"""With 64, more than 3% of short sentences in batches of 32 is padding; with more, chance has less to say."""


def plan_epoch(lengths: Array, *, seed: int, epoch: int, batching: Batching) -> list[Array]:
    """Give the examples of each global batch of an epoch; every example comes exactly once."""
    if not len(lengths):
        return []
    random = generator(seed, "order", epoch=epoch)
    order = random.permutation(len(lengths))
    if not batching.group_by_length:
        return _cut_in_order(order, lengths, batching)
    batches = _cut_in_pools(order, lengths, batching)
    return [batches[place] for place in random.permutation(len(batches))]


def evaluation_plan(lengths: Array, *, tokens: int | None = None, examples: int | None = None) -> list[Array]:
    """Give batches of like length, the longest first, so that memory peaks at once; every example comes once."""
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")
    batching = Batching(tokens=tokens, examples=examples)
    return [*_cut_sorted(order, lengths, batching)]


def padding_waste(plan: Sequence[Array], lengths: Array) -> float:
    """Tell which share of a plan's padded tokens is padding."""
    lengths = np.asarray(lengths)
    padded = sum(int(lengths[batch].max()) * len(batch) for batch in plan)
    return 1.0 - sum(int(lengths[batch].sum()) for batch in plan) / padded if padded else 0.0


class Cursor(TypedDict):
    """A place in the data: plain numbers, ready for JSON."""

    epoch: int
    batch: int


@dataclass(frozen=True)
class Drawn:
    """The part of one global batch that falls to this rank."""

    indices: Array
    """May be empty, when the batch has fewer examples than there are ranks."""
    global_size: int
    epoch: int
    cursor_before: Cursor
    cursor_after: Cursor
    epochs_after: float
    """How many epochs are done once this batch is, like 1.25."""


class BatchStream:
    """Give batch after batch, epoch after epoch, from any place."""

    def __init__(self, lengths: Array, batching: Batching, seed: int, *, rank: int = 0, world: int = 1) -> None:
        if not len(lengths):
            raise DataError("there are no examples to train on; the training split is empty")
        self._lengths = np.asarray(lengths)
        self._batching = batching
        self._seed = seed
        self._rank = rank
        self._world = world
        self._epoch = 0
        self._batch = 0
        self._planned: tuple[int, list[Array]] = (-1, [])

    @property
    def cursor(self) -> Cursor:
        """The place of the next batch; setting it costs the plan of one epoch, however far it is."""
        return Cursor(epoch=self._epoch, batch=self._batch)

    @cursor.setter
    def cursor(self, place: Cursor) -> None:
        epoch, batch = int(place["epoch"]), int(place["batch"])
        if epoch < 0 or not 0 <= batch < self.batches_in(epoch):
            raise CheckpointError(
                f"the saved position, batch {batch} of epoch {epoch}, is not in an epoch of "
                f"{self.batches_in(max(0, epoch))} batches; resume with the data and train.batch it was saved with"
            )
        self._epoch, self._batch = epoch, batch

    def draw(self) -> Drawn:
        """Give this rank's part of the next batch, and move on."""
        before = self.cursor
        plan = self._plan(self._epoch)
        batch = plan[self._batch]
        self._batch += 1
        epochs_after = before["epoch"] + self._batch / len(plan)
        if self._batch == len(plan):
            self._epoch, self._batch = self._epoch + 1, 0
        mine = batch[self._rank :: self._world]
        return Drawn(mine, len(batch), before["epoch"], before, self.cursor, epochs_after)

    def batches_in(self, epoch: int) -> int:
        """Count the batches of an epoch; with a token budget it may differ from one to the next."""
        if self._batching.tokens is None:
            return -(-len(self._lengths) // (self._batching.examples or DEFAULT_EXAMPLES))
        return len(self._plan(epoch))

    def total_batches(self, epochs: float) -> int:
        """Count the batches of the first `epochs` epochs; a part of an epoch is rounded up to whole batches."""
        whole = math.floor(epochs + 1e-9)
        if self._batching.tokens is None:
            total = whole * self.batches_in(0)
        else:
            total = sum(self.batches_in(epoch) for epoch in range(whole))
        part = epochs - whole
        return total + (math.ceil(part * self.batches_in(whole) - 1e-6) if part > 1e-9 else 0)

    def padding_waste(self, epoch: int = 0) -> float:
        """Tell which share of an epoch's tokens is padding."""
        return padding_waste(self._plan(epoch), self._lengths)

    def _plan(self, epoch: int) -> list[Array]:
        if self._planned[0] != epoch:
            plan = plan_epoch(self._lengths, seed=self._seed, epoch=epoch, batching=self._batching)
            self._planned = (epoch, plan)
        return self._planned[1]


class Prefetch(Generic[B]):
    """Draw and collate ahead of the consumer; its cursor is the place after the last batch that was consumed."""

    def __init__(self, stream: BatchStream, collate: Callable[[Drawn], B], *, depth: int = 2) -> None:
        self._cursor = stream.cursor
        self._ahead = Ahead(_collated(stream, collate), depth=depth)

    @property
    def cursor(self) -> Cursor:
        """The place to go on from: batches that were only prepared do not count."""
        return Cursor(**self._cursor)

    def draw(self) -> tuple[Drawn, B]:
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


def _collated(stream: BatchStream, collate: Callable[[Drawn], B]) -> Iterator[tuple[Drawn, B]]:
    while True:
        drawn = stream.draw()
        yield drawn, collate(drawn)


def _cut_in_pools(order: Array, lengths: Array, batching: Batching) -> list[Array]:
    """Sort by length within pools of some dozens of batches only: like lengths meet, and yet anything can meet."""
    lengths = np.asarray(lengths, dtype=np.int64)
    size = _BATCHES_IN_POOL * _usual_size(lengths, batching)
    batches: list[Array] = []
    for start in range(0, len(order), size):
        pool = order[start : start + size]
        pool = pool[np.argsort(-lengths[pool], kind="stable")]  # stable: examples of one length stay in random order
        batches.extend(_cut_sorted(pool, lengths, batching))
    return batches


def _usual_size(lengths: Array, batching: Batching) -> int:
    if batching.tokens is None:
        return batching.examples or DEFAULT_EXAMPLES
    return max(1, int(batching.tokens / max(1.0, float(np.mean(lengths)))))


def _cut_sorted(order: Array, lengths: Array, batching: Batching) -> Iterator[Array]:
    """Cut from the longest down: the first of a batch tells how many fit into the token budget."""
    start = 0
    while start < len(order):
        count = batching.examples or DEFAULT_EXAMPLES
        if batching.tokens is not None:
            count = max(1, batching.tokens // max(1, int(lengths[order[start]])))
        yield order[start : start + count]
        start += count


def _cut_in_order(order: Array, lengths: Array, batching: Batching) -> list[Array]:
    if batching.tokens is None:
        size = batching.examples or DEFAULT_EXAMPLES
        return [order[start : start + size] for start in range(0, len(order), size)]
    batches: list[Array] = []
    start = longest = 0
    for place, length in enumerate(np.asarray(lengths)[order].tolist()):
        longest = max(longest, length)
        if place > start and longest * (place - start + 1) > batching.tokens:
            batches.append(order[start:place])
            start, longest = place, length
    return [*batches, order[start:]]
