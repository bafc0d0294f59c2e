"""Feeds a learner from its stream of batches; the only place where the position in the data moves."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from burnish.data.batches import BatchStream, Drawn, Prefetch
from burnish.engine.state import Taken
from burnish.spec.interval import Interval
from burnish.spec.values import Draw, StepResult

if TYPE_CHECKING:
    from burnish.spec.values import Array, Batch


class Pupil(Protocol):
    """What learns from batches."""

    @property
    def learning_rate(self) -> float:
        """The rate of the last step."""
        ...

    def step(self, batches: "Sequence[Batch]", *, step: int, factor: float) -> StepResult:
        """Learn from one global batch, cut into micro-batches."""
        ...


class Feed:
    """A learner with its batches: takes a step, and knows its place in the data."""

    def __init__(
        self,
        learner: Pupil,
        stream: BatchStream,
        collate: "Callable[[Array, Draw], Batch]",
        *,
        accumulate: int,
        seed: int,
    ) -> None:
        self._learner = learner
        self._collate = collate
        self._accumulate = accumulate
        self._seed = seed
        self._batches = Prefetch(stream, self._cut)

    def advance(self, step: int, factor: float) -> Taken:
        """Draw the next global batch and learn from this rank's share of it."""
        drawn, batches = self._batches.draw()
        result = self._learner.step(batches, step=step, factor=factor)
        return Taken(result, epochs=drawn.epochs_after, global_examples=drawn.global_size)

    def cursor(self) -> dict[str, int]:
        """Tell the place of the next batch."""
        cursor = self._batches.cursor
        return {"epoch": cursor["epoch"], "batch": cursor["batch"]}

    @property
    def learning_rate(self) -> float:
        """Tell the rate of the last step."""
        return self._learner.learning_rate

    def close(self) -> None:
        """Stop preparing batches."""
        self._batches.close()

    def _cut(self, drawn: Drawn) -> "list[Batch]":
        draw = Draw(seed=self._seed, epoch=drawn.epoch, is_training=True)
        parts = np.array_split(drawn.indices, self._accumulate)
        return [self._collate(part, draw) for part in parts if len(part)]


def total_steps(length: Interval, stream: BatchStream, *, num_examples: int) -> int | None:
    """Count the optimizer steps of a whole training; None when it is measured by the clock."""
    if length.unit == "minutes":
        return None
    if length.unit == "steps":
        return int(length.amount)
    if length.unit == "epochs":
        return stream.total_batches(length.amount)
    return stream.total_batches(length.amount / num_examples)
