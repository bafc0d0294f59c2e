"""Plans the windows through which a context is read beside its question."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from burnish.spec.values import Array


@dataclass(frozen=True)
class WindowPlan:
    """Windows one after the other, in row order: each reads `lengths` tokens of a row's context from `starts` on."""

    source: Array
    starts: Array
    lengths: Array

    def local(self, firsts: Array, lasts: Array) -> Array:
        """Give first and last token of each row, counted in each window [w, 2]; -1 where they do not fit in."""
        begin, end = firsts[self.source] - self.starts, lasts[self.source] - self.starts
        inside = (firsts[self.source] >= 0) & (begin >= 0) & (begin <= end) & (end < self.lengths)
        return np.where(inside[:, None], np.stack([begin, end], axis=1), -1)


def plan_windows(contexts: Array, rooms: Array, *, stride: int) -> WindowPlan:
    """Cover contexts of so many tokens by windows of at most `rooms` tokens; two neighbours share `stride` of them."""
    rooms = np.maximum(rooms, 1)
    steps = rooms - np.minimum(stride, rooms - 1)
    counts = 1 + -(-np.maximum(contexts - rooms, 0) // steps)
    source = np.repeat(np.arange(len(contexts)), counts)
    number = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = number * steps[source]
    return WindowPlan(source, starts, np.minimum(rooms[source], contexts[source] - starts))
