"""Applies a truncation policy to texts and pairs: who gets how much room, and which positions that leaves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from burnish.data.batching.ragged import Ragged, pack, total_lengths
from burnish.data.batching.rng import generator
from burnish.spec.protocols import Truncation
from burnish.spec.values import Array


@dataclass(frozen=True)
class Cut:
    """Texts under the limit; feature i comes from row `source[i]`, which lost `dropped[source[i]]` tokens."""

    texts: list[Ragged]
    source: Array
    dropped: Array


def cut_texts(texts: Sequence[Ragged], truncation: Truncation, *, room: int) -> Cut:
    """Apply a policy that does not draw. Rows that fit are copied in one go, only long ones looked at one by one."""
    unused = generator(0, "truncation", epoch=0)
    sizes = total_lengths(texts)
    num_features = np.ones(len(sizes), dtype=np.int64)
    dropped = np.zeros(len(sizes), dtype=np.int64)
    chosen: dict[int, list[list[Array]]] = {}
    for row in np.flatnonzero(sizes > room).tolist():
        windows = select([int(text.lengths[row]) for text in texts], truncation, room=room, random=unused)
        chosen[row] = windows
        num_features[row] = len(windows[0])
        dropped[row] = sizes[row] - sum(len(np.unique(np.concatenate(side))) for side in windows)
    cut = [_replace(text, ((row, windows[side]) for row, windows in chosen.items())) for side, text in enumerate(texts)]
    return Cut(cut, np.repeat(np.arange(len(sizes)), num_features), dropped)


def select(
    lengths: Sequence[int], truncation: Truncation, *, room: int, random: np.random.Generator
) -> list[list[Array]]:
    """Select, for each text of one row, the positions to keep in each feature; every text has as many features."""
    sides = [
        truncation.select(length, limit=budget, random=random) if length > budget else [np.arange(length)]
        for length, budget in zip(lengths, share_room(lengths, room), strict=True)
    ]
    most = max(len(windows) for windows in sides)
    # The side with fewer windows repeats them at an even pace, so that all of them are seen.
    return [[windows[number * len(windows) // most] for number in range(most)] for windows in sides]


def share_room(lengths: Sequence[int], room: int) -> list[int]:
    """Share the room as if tokens were taken from the longest text until all fit, as the tokenizers library does."""
    budgets = list(lengths)
    for rank, at in enumerate(np.argsort(lengths, kind="stable").tolist()):
        budgets[at] = min(lengths[at], room // (len(lengths) - rank))
        room -= budgets[at]
    return budgets


def _replace(text: Ragged, chosen: Iterable[tuple[int, list[Array]]]) -> Ragged:
    """Put windows in the place of some lists; the text must be packed, so that all between them is one slice."""
    ends = text.starts + text.lengths
    values: list[Array] = []
    lengths: list[Array] = []
    row_done = value_done = 0
    for row, windows in chosen:
        start = text.starts[row]
        values += [text.values[value_done:start], *(text.values[start + window] for window in windows)]
        lengths += [text.lengths[row_done:row], np.array([len(window) for window in windows])]
        row_done, value_done = row + 1, int(ends[row])
    values.append(text.values[value_done:])
    lengths.append(text.lengths[row_done:])
    return pack(np.concatenate(values), np.concatenate(lengths))


def thin(starts: Sequence[int], *, most: int) -> list[int]:
    """Keep at most so many, spread evenly from the first to the last."""
    if len(starts) <= most:
        return list(starts)
    return [starts[int(place)] for place in np.linspace(0, len(starts) - 1, most).round()]


def draw_chunks(length: int, *, limit: int, span: int, random: np.random.Generator) -> Array:
    """Draw whole chunks until the limit is full, the last one cut to fit; document order is kept."""
    span = min(span, limit)
    starts = random.permutation(np.arange(0, length, span))
    widths = fill(np.minimum(span, length - starts), limit)
    starts = starts[: len(widths)]
    order = np.argsort(starts)
    return spread(starts[order], widths[order])


def draw_overlapping(length: int, *, limit: int, span: int, random: np.random.Generator) -> Array:
    """Draw spans that lie wholly in the text, each on its own, in draw order; the last is cut to fit."""
    span = min(span, limit)
    widths = fill(np.full(-(-limit // span), span), limit)
    return spread(random.integers(0, length - widths + 1), widths)


def draw_deleting(length: int, *, limit: int, span: int, random: np.random.Generator) -> Array:
    """Draw spans out of what is left, in draw order; shorter ones once no whole one fits."""
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
    """List every position of every span, one span after the other."""
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
