"""Finds the best spans that a network scored, and turns them into an answer a row with the next best ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.metrics.answer_scores import ANSWERS_JOINED_BY
from burnish.spec.values import Array, Outcome
from burnish.tasks.question_answering.columns import QuestionColumns

_PLACES_AT_ONCE = 1 << 18
RIGHT_PLACES = ("at_right_start", "at_right_end")
"""Which places of a window are the right ones, where that is known."""
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


def unlikelihood(outputs: Mapping[str, Array]) -> Array | None:
    """Return of each row minus the log-likelihood of the right start and end in each window, and how many windows."""
    if not set(RIGHT_PLACES) <= outputs.keys():
        return None
    order = np.lexsort((outputs["part"], outputs["row"]))
    part, logits = outputs["part"][order], outputs["logits"][order].astype(np.float64)
    right = np.stack([outputs[name] for name in RIGHT_PLACES], axis=1)[order]
    firsts = np.flatnonzero(np.diff(part, prepend=part[:1] - 1))
    most = np.maximum.reduceat(logits, firsts)
    raised = np.exp(logits - np.repeat(most, np.diff(np.append(firsts, len(part))), axis=0))
    each = np.log(np.add.reduceat(raised, firsts)) + most - np.add.reduceat(np.where(right, logits, 0.0), firsts)
    which = np.unique(outputs["row"][order][firsts], return_inverse=True)[1]
    return np.stack([np.bincount(which, weights=each.mean(axis=1)), np.bincount(which)], axis=1)


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
    """Return the score of the best span of each row; 0 where there is none."""
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
    """Return window, begin, end and score of the best pairs of each window, and its score of no answer."""
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


_NO_ANSWER = ""


@dataclass(frozen=True)
class Decision:
    """When a question is left unanswered: if no answer beats the best one by more than this; None for never."""

    null_threshold: float | None


def decode(found: Search, table: pa.Table, *, columns: QuestionColumns, decision: Decision) -> Outcome:
    """Return one answer a row, with the next best ones."""
    asked = table.take(pa.array(found.rows))
    best = best_scores(found.spans, size=len(found.rows))
    # Without a place for no answer nothing can be said for it; a number must stand there all the same.
    odds = np.where(np.isfinite(found.nulls), found.nulls - best, 0.0)
    listed = _listed(found.spans, asked[columns.context].to_pylist())
    right = columns.right_answers(asked)
    truth = None if right is None else right.by_row()
    answers = _Answers.of(listed, best, odds, threshold=decision.null_threshold)
    shown = answers.table(truth)
    if columns.id in asked.column_names:
        shown = shown.append_column("id", asked[columns.id].cast(pa.string()))
    return Outcome(
        kind="spans",
        rows=found.rows,
        outputs=np.stack([best, odds], axis=1),
        decisions=answers.predicted,
        truth=truth,
        answers=shown,
    )


@dataclass(frozen=True)
class _Listed:
    """Spans with what they say, best first, each text once a row."""

    spans: Spans
    texts: list[str]


def _listed(spans: Spans, contexts: list[str | None]) -> _Listed:
    seen: set[tuple[int, str]] = set()
    kept: list[int] = []
    texts: list[str] = []
    begins, ends = spans.begins.copy(), spans.ends.copy()
    for at, (row, begin, end) in enumerate(zip(spans.rows.tolist(), begins.tolist(), ends.tolist(), strict=True)):
        cut = (contexts[row] or "")[begin:end]
        text = cut.strip()
        if text and (row, text) not in seen:
            seen.add((row, text))
            kept.append(at)
            texts.append(text)
            begins[at] = begin + len(cut) - len(cut.lstrip())
            ends[at] = begins[at] + len(text)
    return _Listed(Spans(spans.rows, begins, ends, spans.scores).take(np.array(kept, dtype=np.int64)), texts)


def _shares(listed: _Listed, best: Array, nulls: Array | None) -> tuple[Array, Array]:
    """Share out certainty over the answers of each row, and no answer if that may be."""
    size = len(best)
    top = best if nulls is None else np.maximum(best, nulls)
    raised = np.exp(listed.spans.scores - top[listed.spans.rows])
    open_ones = np.zeros(size) if nulls is None else np.exp(nulls - top)
    totals = np.bincount(listed.spans.rows, weights=raised, minlength=size) + open_ones
    totals = np.where(totals > 0, totals, 1.0)
    return raised / totals[listed.spans.rows], open_ones / totals


@dataclass(frozen=True)
class _Answers:
    listed: _Listed
    shares: Array
    null_shares: Array
    odds: Array
    firsts: Array
    """Where the best answer of each row is listed, if it has one."""
    is_open: Array
    best: Array
    may_be_open: bool

    @classmethod
    def of(cls, listed: _Listed, best: Array, odds: Array, *, threshold: float | None) -> _Answers:
        """Decide which rows are left unanswered."""
        rows = np.arange(len(best))
        firsts = np.searchsorted(listed.spans.rows, rows)
        has = np.searchsorted(listed.spans.rows, rows, side="right") > firsts
        is_open = ~has if threshold is None else ~has | (odds > threshold)
        texts = np.full(len(rows), _NO_ANSWER, dtype=object)
        texts[has] = [listed.texts[at] for at in firsts[has]]
        shares, null_shares = _shares(listed, best, None if threshold is None else best + odds)
        return cls(listed, shares, null_shares, odds, firsts, is_open, texts, threshold is not None)

    @property
    def predicted(self) -> Array:
        """The answers, empty where there is none."""
        return np.where(self.is_open, _NO_ANSWER, self.best).astype(object)

    def table(self, truth: Array | None) -> pa.Table:
        """Return the columns that a prediction shows."""
        spans, at = self.listed.spans, self.firsts[~self.is_open]
        confidence = self.null_shares.copy()
        confidence[~self.is_open] = self.shares[at]
        columns: dict[str, Any] = {
            "predicted": pa.array(self.predicted, pa.string()),
            "confidence": confidence,
            "start": self._of_answered(spans.begins[at]),
            "end": self._of_answered(spans.ends[at]),
            **({"null_odds": self.odds, "no_answer_probability": self.null_shares} if self.may_be_open else {}),
            "best_answer": pa.array(self.best, pa.string()),
            "n_best": self._n_best(),
        }
        if truth is not None:
            columns["true_answers"] = pa.array(list(map(list, truth)), pa.list_(pa.string()))
            columns["truth"] = pa.array([ANSWERS_JOINED_BY.join(dict.fromkeys(right)) for right in truth], pa.string())
        return pa.table(columns)

    def _of_answered(self, values: Array) -> pa.Array:
        whole = np.zeros(len(self.is_open), dtype=np.int64)
        whole[~self.is_open] = values
        return pa.array(whole, mask=self.is_open)

    def _n_best(self) -> pa.Array:
        spans = self.listed.spans
        offsets = np.append(self.firsts, len(spans.rows)).astype(np.int32)
        fields = {
            "text": pa.array(self.listed.texts, pa.string()),
            "probability": pa.array(self.shares),
            "logit": pa.array(spans.scores),
            "start": pa.array(spans.begins),
            "end": pa.array(spans.ends),
        }
        values = pa.StructArray.from_arrays(list(fields.values()), names=list(fields))
        return pa.ListArray.from_arrays(pa.array(offsets), values)
