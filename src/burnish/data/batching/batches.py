"""Which examples come in which batch: a pure function of seed, epoch and lengths, and a position in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypedDict, overload

import numpy as np

from burnish.data.batching.rng import generator
from burnish.data.splits.splits import compact
from burnish.errors import CheckpointError, DataError
from burnish.spec.experiment import Batching
from burnish.spec.values import Array

_DEFAULT_EXAMPLES = 32
_TEXTS_AT_ONCE = 64
_TOKENS_AT_ONCE = 4096
"""What a layer makes of more tokens than that is far larger than any cache."""
_ROWS_AT_ONCE = 4096
_BATCHES_IN_POOL = 128
"""With 64, more than 3% of short sentences in batches of 32 is padding; with more, chance has less to say."""


def plan_epoch(lengths: Array, *, seed: int, epoch: int, batching: Batching) -> Plan:
    """Plan the examples of each global batch of an epoch; every example comes exactly once."""
    random = generator(seed, "order", epoch=epoch)
    order = compact(random.permutation(len(lengths)))
    lengths = np.asarray(lengths)
    if not batching.group_by_length:
        return _make_plan(order, _cuts_in_order(order, lengths, batching)).of_epoch(epoch)
    return _cut_in_pools(order, lengths, batching).shuffled(random).of_epoch(epoch)


def evaluation_plan(
    lengths: Array, asked: Batching | None = None, *, tokens: int | None = None, examples: int | None = None
) -> Plan:
    """Plan batches of like length, the longest first, so that memory peaks at once; every example comes once."""
    lengths = np.asarray(lengths)
    order = compact(_longest_first(lengths))
    return _make_plan(order, _cuts_sorted(lengths[order], asked or Batching(tokens=tokens, examples=examples)))


def evaluation_size(lengths: Array) -> int:
    """Say how many examples to answer at once: few long ones, many where an example is one row of numbers."""
    longest = int(np.max(lengths, initial=0))
    return max(1, min(_TEXTS_AT_ONCE, _TOKENS_AT_ONCE // longest)) if longest > 1 else _ROWS_AT_ONCE


def padding_waste(plan: Sequence[Array], lengths: Array) -> float:
    """Tell which share of a plan's padded tokens is padding."""
    lengths = np.asarray(lengths)
    padded = sum(count_padded_tokens(plan, lengths))
    return 1.0 - sum(int(lengths[batch].sum()) for batch in plan) / padded if padded else 0.0


def count_padded_tokens(plan: Sequence[Array], lengths: Array) -> list[int]:
    """Count the tokens of each batch, padding included."""
    return [int(lengths[batch].max()) * len(batch) for batch in plan]


def spread(sizes: Sequence[int], count: int) -> list[int]:
    """Choose `count` places whose sizes stand for all: the middles of equal shares of the sorted sizes."""
    order = np.argsort(sizes, kind="stable")
    count = min(count, len(order))
    return [int(order[int((share + 0.5) * len(order) / count)]) for share in range(count)]


class Mixture(Protocol):
    """Epochs that are made of several sets."""

    @property
    def num_batches(self) -> int:
        """Count the batches of an epoch, the same for each."""
        ...

    def plan(self, epoch: int) -> Plan:
        """Plan the batches of an epoch, each of one set."""
        ...


class Cursor(TypedDict):
    """A place in the data: plain numbers, ready for JSON."""

    epoch: int
    batch: int


@dataclass(frozen=True)
class BatchSlice:
    """The part of one global batch that falls to this rank."""

    indices: Array
    """May be empty, when the batch has fewer examples than there are ranks."""
    global_size: int
    epoch: int
    """How often the examples were all gone through before; what is random about an example depends on it."""
    cursor_before: Cursor
    cursor_after: Cursor
    epochs_after: float
    """How many epochs are done once this batch is, like 1.25."""


class BatchStream:
    """Draw batch after batch, epoch after epoch, from any place."""

    def __init__(
        self,
        lengths: Array,
        batching: Batching,
        seed: int,
        *,
        rank: int = 0,
        world: int = 1,
        mixture: Mixture | None = None,
    ) -> None:
        if not len(lengths):
            raise DataError("there are no examples to train on; the training split is empty")
        self._lengths = np.asarray(lengths)
        self._batching = batching
        self._seed = seed
        self._rank = rank
        self._world = world
        self._mixture = mixture
        self._epoch = 0
        self._batch = 0
        self._planned: tuple[int, Plan] | None = None

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

    def draw(self) -> BatchSlice:
        """Take this rank's part of the next batch, and move on."""
        before = self.cursor
        plan = self.plan(self._epoch)
        batch, epoch = plan[self._batch], plan.epoch_of(self._batch)
        self._batch += 1
        epochs_after = before["epoch"] + self._batch / len(plan)
        if self._batch == len(plan):
            self._epoch, self._batch = self._epoch + 1, 0
        mine = batch[self._rank :: self._world]
        return BatchSlice(mine, len(batch), epoch, before, self.cursor, epochs_after)

    def batches_in(self, epoch: int) -> int:
        """Count the batches of an epoch; with a token budget it may differ from one to the next."""
        if self._mixture is not None:
            return self._mixture.num_batches
        if self._batching.tokens is None:
            return -(-len(self._lengths) // examples_per_batch(self._batching))
        return len(self.plan(epoch))

    def total_batches(self, epochs: float) -> int:
        """Count the batches of the first `epochs` epochs; a part of an epoch is rounded up to whole batches."""
        whole = math.floor(epochs + 1e-9)
        if self._batching.tokens is None or self._mixture is not None:
            total = whole * self.batches_in(0)
        else:
            total = sum(self.batches_in(epoch) for epoch in range(whole))
        part = epochs - whole
        return total + (math.ceil(part * self.batches_in(whole) - 1e-6) if part > 1e-9 else 0)

    def padding_waste(self, epoch: int = 0) -> float:
        """Tell which share of an epoch's tokens is padding."""
        return padding_waste(self.plan(epoch), self._lengths)

    def plan(self, epoch: int) -> Plan:
        """Plan the examples of each global batch of an epoch, once for each epoch in turn."""
        if self._planned is None or self._planned[0] != epoch:
            self._planned = None  # first, so that memory never holds two plans
            self._planned = (epoch, self._made(epoch))
        return self._planned[1]

    def _made(self, epoch: int) -> Plan:
        if self._mixture is not None:
            return self._mixture.plan(epoch)
        return plan_epoch(self._lengths, seed=self._seed, epoch=epoch, batching=self._batching)


def examples_per_batch(batching: Batching) -> int:
    """Count the examples of a batch that is not counted in tokens."""
    assert batching.examples != "auto", "it was settled when the number of rows was known"
    return batching.examples or _DEFAULT_EXAMPLES


def _longest_first(lengths: Array) -> Array:
    # stable: examples of one length stay in the order they came in
    return np.argsort(-lengths.astype(np.int64), kind="stable")


def _make_plan(order: Array, ends: Array) -> Plan:
    return Plan(order, np.concatenate([np.zeros(min(1, len(ends)), dtype=np.int64), ends[:-1]]), ends)


def _cut_in_pools(order: Array, lengths: Array, batching: Batching) -> Plan:
    """Sort by length within pools of some dozens of batches only: like lengths meet, and yet anything can meet."""
    size = _BATCHES_IN_POOL * (_usual_size(lengths, batching) if len(order) else 1)
    ends: list[Array] = [np.empty(0, dtype=np.int64)]
    for start in range(0, len(order), size):
        pool = order[start : start + size]
        pool[:] = pool[_longest_first(lengths[pool])]
        ends.append(start + _cuts_sorted(lengths[pool], batching))
    return _make_plan(order, np.concatenate(ends))


def _usual_size(lengths: Array, batching: Batching) -> int:
    if batching.tokens is None:
        return examples_per_batch(batching)
    return max(1, int(batching.tokens / max(1.0, float(np.mean(lengths)))))


def _cuts_sorted(lengths: Array, batching: Batching) -> Array:
    """Tell where batches end, from the longest down: the first of a batch tells how many fit into the token budget."""
    if batching.tokens is None:
        return _cuts_by_count(len(lengths), batching)
    ends: list[int] = []
    start = 0
    while start < len(lengths):
        start = min(len(lengths), start + max(1, batching.tokens // max(1, int(lengths[start]))))
        ends.append(start)
    return np.array(ends, dtype=np.int64)


def _cuts_by_count(count: int, batching: Batching) -> Array:
    size = examples_per_batch(batching)
    return np.minimum(np.arange(size, count + size, size, dtype=np.int64), count)


def _cuts_in_order(order: Array, lengths: Array, batching: Batching) -> Array:
    if batching.tokens is None or not len(order):
        return _cuts_by_count(len(order), batching)
    ends: list[int] = []
    start = longest = 0
    for place, example in enumerate(order):
        length = int(lengths[example])
        longest = max(longest, length)
        if place > start and longest * (place - start + 1) > batching.tokens:
            ends.append(place)
            start, longest = place, length
    return np.array([*ends, len(order)], dtype=np.int64)


class Plan(Sequence["Array"]):
    """The examples of each batch, and which pass over its own examples a batch belongs to."""

    def __init__(self, order: Array, starts: Array, ends: Array, *, epochs: Array | None = None) -> None:
        self._order = order
        self._starts = starts
        self._ends = ends
        self._epochs = np.zeros(len(starts), dtype=np.int32) if epochs is None else epochs

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, which: int) -> Array: ...
    @overload
    def __getitem__(self, which: slice) -> Plan: ...
    def __getitem__(self, which: int | slice) -> Array | Plan:
        if isinstance(which, slice):
            return self.chosen(which)
        return self._order[self._starts[which] : self._ends[which]]

    def epoch_of(self, which: int) -> int:
        """Tell which pass over its own examples a batch belongs to."""
        return int(self._epochs[which])

    def of_epoch(self, epoch: int) -> Plan:
        """Mark all batches as those of one pass."""
        return Plan(self._order, self._starts, self._ends, epochs=np.full(len(self), epoch, dtype=np.int32))

    def shuffled(self, random: np.random.Generator) -> Plan:
        """Put the batches into another order."""
        return self.chosen(random.permutation(len(self)))

    def chosen(self, which: slice | Array) -> Plan:
        """Choose some of the batches, in the order named."""
        return Plan(self._order, self._starts[which], self._ends[which], epochs=self._epochs[which])

    def moved(self, offset: int) -> Plan:
        """Shift the batches to examples that are numbered from `offset` on."""
        fits = offset + len(self._order) <= np.iinfo(self._order.dtype).max
        order = self._order if fits else self._order.astype(np.int64)
        return Plan(order + order.dtype.type(offset), self._starts, self._ends, epochs=self._epochs)


def join_plans(plans: Sequence[Plan]) -> Plan:
    """Join the batches of several plans, one plan after the other."""
    bases = np.cumsum([0, *(len(plan._order) for plan in plans)])
    return Plan(
        np.concatenate([plan._order for plan in plans]),
        np.concatenate([plan._starts + base for plan, base in zip(plans, bases, strict=False)]),
        np.concatenate([plan._ends + base for plan, base in zip(plans, bases, strict=False)]),
        epochs=np.concatenate([plan._epochs for plan in plans]),
    )
