"""Puts spans into words: an answer a row, the next best ones beside it, and how likely there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.metrics.answer_scores import ANSWERS_JOINED_BY
from burnish.spec.values import Array, Outcome
from burnish.tasks.question_answering.columns import QuestionColumns
from burnish.tasks.question_answering.spans import Search, Spans, best_scores

_NO_ANSWER = ""


@dataclass(frozen=True)
class Decision:
    """When a question is left unanswered: if no answer beats the best one by more than this; None for never."""

    null_threshold: float | None


def decode(found: Search, table: pa.Table, *, columns: QuestionColumns, decision: Decision) -> Outcome:
    """Give one answer a row, with the next best ones."""
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
    """What is said of every row."""

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
        """Give the answers, empty where there is none."""
        return np.where(self.is_open, _NO_ANSWER, self.best).astype(object)

    def table(self, truth: Array | None) -> pa.Table:
        """Give the columns that a prediction shows."""
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
