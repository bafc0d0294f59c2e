"""Finds the best spans among the places that a network scored: within each window, then over the windows of a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from burnish.spec.values import Array

_PLACES_AT_ONCE = 1 << 18
INVALID = -1e29
"""Scores below this are no spans."""


@dataclass(frozen=True)
class Spans:
    """Candidates of rows: the characters of the context that each covers, and how good it is."""

    rows: Array
    """Which of the rows in question, counted from 0."""
    begins: Array
    ends: Array
    scores: Array

    def take(self, which: Array) -> Spans:
        """Keep some of them, in an order."""
        return Spans(self.rows[which], self.begins[which], self.ends[which], self.scores[which])


@dataclass(frozen=True)
class Search:
    """What was found in all rows: their numbers, their spans, and the score of no answer."""

    rows: Array
    spans: Spans
    nulls: Array
    """Of each row, over its windows the lowest."""


def search_places(outputs: Mapping[str, Array], *, n_best: int, max_tokens: int) -> Search:
    """Pair the best starts with the best ends of each window; outputs are two scores a place."""
    order = np.lexsort((outputs["part"], outputs["row"]))
    logits = outputs["logits"][order].astype(np.float64)
    part, at = outputs["part"][order], np.stack([outputs["at_start"], outputs["at_end"]], axis=1)[order]
    firsts = np.flatnonzero(np.diff(part, prepend=part[:1] - 1)) if len(part) else np.zeros(0, np.int64)
    rows, which = np.unique(outputs["row"][order][firsts], return_inverse=True)
    windows = _Places(logits, at, firsts, np.diff(np.append(firsts, len(part))))
    found = [_pairs(piece, n_best=n_best, max_tokens=max_tokens) for piece in windows.pieces()]
    spans = [np.concatenate(each) for each in zip(*(spans for spans, _ in found), strict=True)]
    nulls = np.concatenate([nulls for _, nulls in found])
    best = merged(Spans(which[spans[0]], *spans[1:]), n_best=n_best)
    return Search(rows, best, _lowest(nulls, which, size=len(rows)))


def search_beams(outputs: Mapping[str, Array], *, n_best: int) -> Search:
    """Collect what a head that searches by itself found: the odds of no answer, then score, begin and end a span."""
    order = np.lexsort((outputs["part"], outputs["row"]))
    rows, which = np.unique(outputs["row"][order], return_inverse=True)
    logits = outputs["logits"][order].astype(np.float64)
    beams = logits[:, 1:].reshape(len(logits), -1, 3)
    real = beams[:, :, 0] > INVALID
    scores, begins, ends = (beams[:, :, column][real] for column in range(3))
    spans = Spans(np.repeat(which, real.sum(axis=1)), begins.astype(np.int64), ends.astype(np.int64), scores)
    best = merged(spans, n_best=n_best)
    # The odds are of no answer against any: put on the scale of the best span, they compare as in the other head.
    odds = _lowest(logits[:, 0], which, size=len(rows))
    return Search(rows, best, odds + best_scores(best, size=len(rows)))


def merged(spans: Spans, *, n_best: int) -> Spans:
    """Keep the best of each row, every span once; best first."""
    twins = spans.take(np.lexsort((-spans.scores, spans.ends, spans.begins, spans.rows)))
    same = np.zeros(len(twins.rows), dtype=bool)
    same[1:] = (np.diff(twins.rows) == 0) & (np.diff(twins.begins) == 0) & (np.diff(twins.ends) == 0)
    kept = twins.take(np.flatnonzero(~same))
    kept = kept.take(np.lexsort((-kept.scores, kept.rows)))
    firsts = np.searchsorted(kept.rows, kept.rows, side="left")
    return kept.take(np.flatnonzero(np.arange(len(kept.rows)) - firsts < n_best))


def best_scores(spans: Spans, *, size: int) -> Array:
    """Give the score of the best span of each row; 0 where there is none."""
    best = np.full(size, -np.inf)
    np.maximum.at(best, spans.rows, spans.scores)
    return np.where(np.isfinite(best), best, 0.0)


@dataclass(frozen=True)
class _Places:
    """Scored places of windows, one window after the other."""

    logits: Array
    at: Array
    firsts: Array
    lengths: Array

    def pieces(self) -> Iterator[_Rectangle]:
        """Lay some windows at a time out as a rectangle, places that are none at minus infinity."""
        width = int(self.lengths.max(initial=1))
        many = max(1, _PLACES_AT_ONCE // width)
        for first in range(0, len(self.firsts), many):
            starts, lengths = self.firsts[first : first + many], self.lengths[first : first + many]
            place = np.minimum(starts[:, None] + np.arange(int(lengths.max())), len(self.logits) - 1)
            real = np.arange(place.shape[1]) < lengths[:, None]
            is_null = real & (self.at[place, 0] < 0)
            scores = np.where((real & ~is_null)[:, :, None], self.logits[place], -np.inf)
            nulls = np.where(is_null, self.logits[place].sum(axis=2), -np.inf).max(axis=1)
            yield _Rectangle(first, scores, self.at[place], nulls)


@dataclass(frozen=True)
class _Rectangle:
    first: int
    scores: Array
    at: Array
    nulls: Array


def _pairs(piece: _Rectangle, *, n_best: int, max_tokens: int) -> tuple[tuple[Array, ...], Array]:
    """Give window, begin, end and score of the best pairs of each window, and its score of no answer."""
    starts, ends = (_top(piece.scores[:, :, side], n_best) for side in range(2))
    rows = np.arange(len(starts))[:, None]
    tokens = ends[:, None, :] - starts[:, :, None]
    values = piece.scores[rows, starts, 0][:, :, None] + piece.scores[rows, ends, 1][:, None, :]
    values = np.where((tokens >= 0) & (tokens < max_tokens), values, -np.inf).reshape(len(starts), -1)
    best = _top(values, n_best)
    # A single token is always a span: a window where no start and end go together still has an answer to give.
    single = piece.scores.sum(axis=2).argmax(axis=1)[:, None]
    first = np.hstack([starts[rows, best // ends.shape[1]], single])
    last = np.hstack([ends[rows, best % ends.shape[1]], single])
    score = np.hstack([values[rows, best], piece.scores[rows, single].sum(axis=2)])
    window = np.broadcast_to(rows + piece.first, score.shape)
    real = np.isfinite(score)
    found = (window, piece.at[rows, first, 0], piece.at[rows, last, 1], score)
    return tuple(each[real] for each in found), piece.nulls


def _top(values: Array, count: int) -> Array:
    if values.shape[1] <= count:
        return np.broadcast_to(np.arange(values.shape[1]), values.shape)
    return np.argpartition(-values, count - 1, axis=1)[:, :count]


def _lowest(values: Array, which: Array, *, size: int) -> Array:
    lowest = np.full(size, np.inf)
    np.minimum.at(lowest, which, values)
    return lowest
