"""Epochs made of several sets: whose batch is next, and which; a pure function of seed and epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.data.batching.batches import Plan, examples_per_batch, join_plans, plan_epoch
from burnish.data.batching.rng import generator
from burnish.data.splits.splits import apportion
from burnish.errors import DataError
from burnish.spec.experiment import Batching
from burnish.spec.protocols import Encoder
from burnish.spec.values import Array, Batch, Outcome, RandomKey, RowFault, Rows

Power = Callable[[int], float]
"""For each epoch, from 0: the power to which the size of a set counts; 1 in proportion, 0 all sets alike."""


class Mixed:
    """Mix sets whose examples are numbered one set after the other; every batch is of one set.

    A set goes through its own passes, batch by batch as it would alone, whatever the epoch: no example comes again
    before all others of its set have come. An epoch has as many batches as a pass over all sets has.
    """

    def __init__(self, lengths: Sequence[Array], batching: Batching, *, seed: int, power: Power) -> None:
        if any(len(each) == 0 for each in lengths):
            raise DataError("there are no examples to train on in one of the sets; its training split is empty")
        self._sets = [np.asarray(each) for each in lengths]
        self._batching = batching
        self._seed = seed
        self._power = power
        self._sizes: dict[tuple[int, int], int] = {}
        self._shares: dict[float, list[int]] = {}

    @property
    def num_batches(self) -> int:
        """Count the batches of an epoch, the same for each."""
        return sum(self._first_sizes())

    def shares(self, epoch: int) -> list[int]:
        """Say how many batches of an epoch are of each set: exactly, for only their order is left to chance."""
        power = self._power(epoch)
        if power not in self._shares:
            sizes = np.array(self._first_sizes())
            counts = sizes.astype(np.float64) ** power
            total = int(sizes.sum())
            room = np.full(len(sizes), total + 2)  # a set may come more than once
            self._shares[power] = [int(share) for share in apportion(counts / counts.sum() * total, total, room=room)]
        return self._shares[power]

    def plan(self, epoch: int) -> Plan:
        """Plan the batches of an epoch, each of one set."""
        shares = self.shares(epoch)
        earlier = [self.shares(each) for each in range(epoch)]
        parts = [self._taken(which, sum(each[which] for each in earlier), share) for which, share in enumerate(shares)]
        turns = generator(self._seed, "mixture", epoch=epoch).permutation(np.repeat(np.arange(len(shares)), shares))
        # Each set's batches keep their order: the first turn of a set takes its first batch.
        return join_plans(parts).chosen(np.argsort(np.argsort(turns, kind="stable"), kind="stable"))

    def _taken(self, which: int, start: int, count: int) -> Plan:
        """Take `count` batches of a set's endless row of passes, from one of them on."""
        number, start = self._located(which, start)
        offset = sum(len(each) for each in self._sets[:which])
        parts: list[Plan] = []
        while count > 0:
            part = self._pass(which, number)[start : start + count]
            parts.append(part.moved(offset))
            start, count, number = 0, count - len(part), number + 1
        return join_plans(parts) if parts else self._pass(which, number)[:0]

    def _located(self, which: int, start: int) -> tuple[int, int]:
        """Tell in which pass a batch is, and which of its batches it is."""
        if self._batching.tokens is None:
            return divmod(start, self._size(which, 0))
        number = 0
        while start >= (size := self._size(which, number)):
            start, number = start - size, number + 1
        return number, start

    def _first_sizes(self) -> list[int]:
        return [self._size(which, 0) for which in range(len(self._sets))]

    def _size(self, which: int, number: int) -> int:
        """Count the batches of a pass; with a token budget it may differ from one to the next."""
        if self._batching.tokens is None:
            return -(-len(self._sets[which]) // examples_per_batch(self._batching))
        if (which, number) not in self._sizes:
            self._sizes[which, number] = len(self._pass(which, number))
        return self._sizes[which, number]

    def _pass(self, which: int, number: int) -> Plan:
        return plan_epoch(self._sets[which], seed=self._seed, epoch=number, batching=self._batching)


@dataclass(frozen=True)
class Grouped(Encoder):
    """Encode as another encoder does, and say in every batch which group it belongs to."""

    encoder: Encoder
    group: int

    @property
    def key(self) -> Mapping[str, object]:
        return self.encoder.key

    def faults(self, rows: Rows) -> Sequence[RowFault]:
        return self.encoder.faults(rows)

    def encode(self, table: pa.Table) -> pa.Table:
        return self.encoder.encode(table)

    def collate(self, features: pa.Table, indices: np.ndarray[Any, Any], draw: RandomKey) -> "Batch":
        return {**self.encoder.collate(features, indices, draw), "group": np.full(len(indices), self.group)}

    def put_into_words(self, outcome: Outcome) -> Outcome:
        return self.encoder.put_into_words(outcome)

    def notes(self, rows: Rows) -> Sequence[str]:
        return self.encoder.notes(rows)
