"""Feeds a learner from batches that are collated ahead; the only place where the position in the data moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Generic, Protocol, TypeVar

import numpy as np

from burnish.data.batching.ahead import Ahead
from burnish.data.batching.batches import BatchSlice, BatchStream, Cursor
from burnish.dist.world import Solo, World
from burnish.engine.recovery import NO_REPAIRS, Adjustments, BadStep
from burnish.engine.state import StepOutput
from burnish.spec.interval import Interval
from burnish.spec.values import EXAMPLE, Array, Batch, RandomKey, StepResult

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
        """Return the next batch; an error of drawing or collating rises here."""
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


class Trainable(Protocol):
    """What learns from batches."""

    @property
    def learning_rate(self) -> float:
        """The rate of the last step."""
        ...

    def step(self, batches: "Sequence[Batch]", *, step: int, factor: float) -> StepResult:
        """Learn from one global batch, cut into micro-batches."""
        ...


class BatchFeeder:
    """A learner with its batches: takes a step, and knows its place in the data."""

    def __init__(
        self,
        learner: Trainable,
        stream: BatchStream,
        collate: "Callable[[Array, RandomKey], Batch]",
        *,
        accumulate: int,
        seed: int,
        world: World | None = None,
        repairs: Adjustments = NO_REPAIRS,
    ) -> None:
        self._learner = learner
        self._collate = collate
        self._accumulate = accumulate
        self._seed = seed
        self._repairs = repairs
        self._world: World = world or Solo()
        self._batches = Prefetch(stream, self._cut)

    def advance(self, step: int, factor: float) -> StepOutput:
        """Draw the next global batch and learn from this rank's share of it."""
        began = monotonic()
        drawn, batches = self._batches.draw()
        while _place(drawn) in self._repairs.skipped:
            drawn, batches = self._batches.draw()
        try:
            result = self._learner.step(batches, step=step, factor=factor * self._repairs.rate(step))
        except BadStep as bad:
            bad.place = _place(drawn)
            raise
        seconds = self._world.sum([monotonic() - began])[0] / self._world.size
        return StepOutput(result, epochs=drawn.epochs_after, global_examples=drawn.global_size, seconds=seconds)

    def cursor(self) -> dict[str, int]:
        """Find the place of the next batch."""
        cursor = self._batches.cursor
        return {"epoch": cursor["epoch"], "batch": cursor["batch"]}

    @property
    def learning_rate(self) -> float:
        """The rate of the last step."""
        return self._learner.learning_rate

    def close(self) -> None:
        """Stop preparing batches."""
        self._batches.close()

    def _cut(self, drawn: BatchSlice) -> "list[Batch]":
        draw = RandomKey(seed=self._seed, epoch=drawn.epoch, is_training=True)
        return micro_batches(drawn.indices, draw, collate=self._collate, accumulate=self._accumulate)


def micro_batches(
    indices: "Array", draw: RandomKey, *, collate: "Callable[[Array, RandomKey], Batch]", accumulate: int
) -> "list[Batch]":
    """Cut one global batch into as many micro-batches as were asked for, leaving out empty ones."""
    parts = np.array_split(indices, min(accumulate, max(1, len(indices))))
    return [{**collate(part, draw), EXAMPLE: part} for part in parts if len(part)]


def _place(drawn: BatchSlice) -> tuple[int, int]:
    return drawn.cursor_before["epoch"], drawn.cursor_before["batch"]


def total_steps(length: Interval, stream: BatchStream, *, num_examples: int) -> int | None:
    """Count the optimizer steps of a whole training; None when it is measured by the clock."""
    if length.unit == "minutes":
        return None
    if length.unit == "steps":
        return int(length.amount)
    if length.unit == "epochs":
        return stream.total_batches(length.amount)
    return stream.total_batches(length.amount / num_examples)
