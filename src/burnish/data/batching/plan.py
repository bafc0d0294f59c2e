"""Batches as one order of all examples and the places it is cut at: four bytes an example, whatever the batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from burnish.spec.values import Array


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
        """Give the same batches as those of one pass."""
        return Plan(self._order, self._starts, self._ends, epochs=np.full(len(self), epoch, dtype=np.int32))

    def shuffled(self, random: np.random.Generator) -> Plan:
        """Give the same batches in another order."""
        return self.chosen(random.permutation(len(self)))

    def chosen(self, which: slice | Array) -> Plan:
        """Give some of the batches, in the order named."""
        return Plan(self._order, self._starts[which], self._ends[which], epochs=self._epochs[which])

    def moved(self, offset: int) -> Plan:
        """Give the same batches of examples that are numbered from `offset` on."""
        fits = offset + len(self._order) <= np.iinfo(self._order.dtype).max
        order = self._order if fits else self._order.astype(np.int64)
        return Plan(order + order.dtype.type(offset), self._starts, self._ends, epochs=self._epochs)


def joined(plans: Sequence[Plan]) -> Plan:
    """Give the batches of several plans, one plan after the other."""
    bases = np.cumsum([0, *(len(plan._order) for plan in plans)])
    return Plan(
        np.concatenate([plan._order for plan in plans]),
        np.concatenate([plan._starts + base for plan, base in zip(plans, bases, strict=False)]),
        np.concatenate([plan._ends + base for plan, base in zip(plans, bases, strict=False)]),
        epochs=np.concatenate([plan._epochs for plan in plans]),
    )
