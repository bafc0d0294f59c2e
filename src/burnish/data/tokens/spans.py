"""The arithmetic of spans: which positions of a text they cover."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from burnish.spec.values import Array


def windows(starts: Sequence[int], *, width: int) -> list[Array]:
    """Give one array of positions a window."""
    return [np.arange(start, start + width) for start in starts]


def thinned(starts: Sequence[int], *, most: int) -> list[int]:
    """Keep at most so many, spread evenly from the first to the last."""
    if len(starts) <= most:
        return list(starts)
    return [starts[int(place)] for place in np.linspace(0, len(starts) - 1, most).round()]


def chunks(length: int, *, limit: int, span: int, random: np.random.Generator) -> Array:
    """Draw whole chunks until the limit is full, the last one cut to fit; document order is kept."""
    starts = random.permutation(np.arange(0, length, span))
    widths = fill(np.minimum(span, length - starts), limit)
    starts = starts[: len(widths)]
    order = np.argsort(starts)
    return spread(starts[order], widths[order])


def overlapping(length: int, *, limit: int, span: int, random: np.random.Generator) -> Array:
    """Draw spans each on its own, in draw order."""
    widths = fill(np.full(-(-limit // span), span), limit)
    return spread(random.integers(0, length - widths + 1), widths)


def deleting(length: int, *, limit: int, span: int, random: np.random.Generator) -> Array:
    """Draw spans out of what is left, in draw order."""
    if span == 1:
        return random.permutation(length)[:limit]
    runs = [(0, length)]
    starts: list[int] = []
    widths: list[int] = []
    room = limit
    while room:
        width = min(span, room, max(end - start for start, end in runs))
        starts.append(_cut_out(runs, width, random))
        widths.append(width)
        room -= width
    return spread(np.array(starts), np.array(widths))


def fill(widths: Array, limit: int) -> Array:
    """Keep the leading widths that make up `limit`, the last one cut to fit."""
    ends = np.cumsum(widths)
    count = int(np.searchsorted(ends, limit)) + 1
    kept = widths[:count].copy()
    kept[-1] -= ends[count - 1] - limit
    return kept


def spread(starts: Array | Sequence[int], widths: Array | Sequence[int]) -> Array:
    """Give every position of every span, one span after the other."""
    starts, widths = np.asarray(starts), np.asarray(widths)
    ends = np.cumsum(widths)
    return np.asarray(np.repeat(starts - ends + widths, widths) + np.arange(ends[-1]))


def _cut_out(runs: list[tuple[int, int]], width: int, random: np.random.Generator) -> int:
    """Draw a start at which `width` tokens are left in one piece, and take them out of `runs`."""
    choices = [max(0, end - start - width + 1) for start, end in runs]
    ticket = int(random.integers(sum(choices)))
    which = 0
    while ticket >= choices[which]:
        ticket -= choices[which]
        which += 1
    start, end = runs[which]
    chosen = start + ticket
    runs[which : which + 1] = [run for run in ((start, chosen), (chosen + width, end)) if run[0] < run[1]]
    return chosen
