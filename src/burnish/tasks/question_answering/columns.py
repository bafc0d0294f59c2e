"""The columns of questions: contexts, right answers in any of their usual shapes, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.errors import DataError
from burnish.spec.values import Array, RowFault
from burnish.tasks.sequences import find_empty_texts

_SHOWN = 60
_STARTS = ("start", "answer_start")
_UNKNOWN = -1


@dataclass(frozen=True)
class QuestionColumns:
    """Which columns hold what, and what becomes of an answer that is not where it is said to be."""

    question: str
    context: str
    answers: str
    impossible: str
    id: str
    offsets: Literal["check", "repair"]

    def faults(self, table: pa.Table, *, may_be_open: bool) -> list[RowFault]:
        """List the rows without a question or a context, and the answers that are not in their context."""
        found = [fault for name in (self.question, self.context) for fault in find_empty_texts(table, name)]
        if self.answers in table.column_names:
            found += self._bad_answers(table, may_be_open=may_be_open)
        if self.id not in table.column_names:
            return found
        ids = table[self.id]
        return [RowFault(fault.row, f"question {ids[fault.row].as_py()}: {fault.what}") for fault in found]

    def right_answers(self, table: pa.Table) -> RightAnswers | None:
        """Read the right answers, their places mended if that is asked for; None if the table has none."""
        if self.answers not in table.column_names:
            return None
        told = read_answers(table[self.answers], name=self.answers)
        return told if self.offsets == "check" else told.repaired(table[self.context].to_pylist())

    def _bad_answers(self, table: pa.Table, *, may_be_open: bool) -> Iterator[RowFault]:
        answers = self.right_answers(table)
        assert answers is not None  # the caller looked
        contexts = table[self.context].to_pylist()
        for row, text, start in zip(answers.rows.tolist(), answers.texts, answers.starts.tolist(), strict=True):
            if what := _misplaced(text, start, contexts[row] or ""):
                yield RowFault(row, what)
        yield from self._contradictions(table, answers.counts, may_be_open=may_be_open)

    def _contradictions(self, table: pa.Table, counts: Array, *, may_be_open: bool) -> Iterator[RowFault]:
        if self.impossible in table.column_names:
            said = pc.fill_null(table[self.impossible].cast(pa.bool_()), False).to_numpy()
            for row in np.flatnonzero(said & (counts > 0)):
                yield RowFault(int(row), f"has an answer, and {self.impossible} says that it has none")
            for row in np.flatnonzero(~said & (counts == 0)):
                yield RowFault(int(row), f"has no answer, and {self.impossible} says that it has one")
        elif not may_be_open:
            for row in np.flatnonzero(counts == 0):
                yield RowFault(int(row), "has no answer; task.no_answer: true allows questions without one")


@dataclass(frozen=True)
class RightAnswers:
    """Right answers one after the other: row i has `counts[i]` of them."""

    counts: Array
    texts: list[str]
    starts: Array
    """The character of the context at which each begins; -1 where that was not told."""

    @property
    def rows(self) -> Array:
        """The row of each answer."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def by_row(self) -> Array:
        """Return the texts of each row as a tuple; empty where there is no answer."""
        ends = np.cumsum(self.counts)
        grouped = np.empty(len(ends), dtype=object)
        grouped[:] = [tuple(self.texts[end - count : end]) for end, count in zip(ends, self.counts, strict=True)]
        return grouped

    def first_spans(self) -> tuple[Array, Array]:
        """Return the characters at which the first answer of each row begins and ends; -1 where there is none."""
        spans = np.full((len(self.counts), 2), _UNKNOWN, dtype=np.int64)
        has = self.counts > 0
        firsts = (np.cumsum(self.counts) - self.counts)[has]
        spans[has, 0] = self.starts[firsts]
        spans[has, 1] = self.starts[firsts] + [len(self.texts[at]) for at in firsts]
        return spans[:, 0], spans[:, 1]

    def repaired(self, contexts: list[str | None]) -> RightAnswers:
        """Move answers that are not where they are said to be to the nearest place where they are."""
        rows = self.rows.tolist()
        found = [
            _nearest(text, start, contexts[row] or "")
            for row, text, start in zip(rows, self.texts, self.starts.tolist(), strict=True)
        ]
        return RightAnswers(self.counts, self.texts, np.array(found, dtype=np.int64))


def read_answers(column: pa.ChunkedArray, *, name: str) -> RightAnswers:
    """Read answers written as a list of texts with starts, as two lists, as a list of texts, or as one text."""
    whole = column.combine_chunks()
    kind = whole.type
    if pa.types.is_struct(kind) and "text" in [field.name for field in kind]:
        return _of_two_lists(whole, name=name)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _of_list(whole, name=name)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        has = pc.fill_null(pc.not_equal(whole, ""), False)
        texts = whole.filter(has).to_pylist()
        return RightAnswers(has.to_numpy(zero_copy_only=False).astype(np.int64), texts, _unknown(len(texts)))
    raise _unlike(name, kind)


def _of_list(lists: pa.Array, *, name: str) -> RightAnswers:
    counts = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    values = lists.flatten()
    if pa.types.is_struct(values.type):
        there = [field.name for field in values.type]
        start = next((each for each in _STARTS if each in there), None)
        if "text" not in there or start is None:
            raise _unlike(name, lists.type)
        return RightAnswers(counts, _texts(values.field("text")), _numbers(values.field(start), name=name))
    if not len(values) or pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return RightAnswers(counts, _texts(values), _unknown(len(values)))
    raise _unlike(name, lists.type)


def _of_two_lists(pairs: pa.StructArray, *, name: str) -> RightAnswers:
    there = [field.name for field in pairs.type]
    start = next((each for each in _STARTS if each in there), None)
    texts = _of_list(pc.struct_field(pairs, "text"), name=name)
    if start is None:
        return texts
    lists = pc.struct_field(pairs, start)
    counts = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    told = _numbers(lists.flatten(), name=name)
    starts = _unknown(len(texts.texts))
    # Where the lists are not of one length nobody knows which start is whose: those rows are told to have none.
    same = counts == texts.counts
    starts[np.repeat(same, texts.counts)] = told[np.repeat(same, counts)]
    return RightAnswers(texts.counts, texts.texts, starts)


def _texts(values: pa.Array) -> list[str]:
    return ["" if text is None else str(text) for text in values.to_pylist()]


def _numbers(values: pa.Array, *, name: str) -> Array:
    if not (pa.types.is_integer(values.type) or pa.types.is_null(values.type)):
        raise DataError(f"task: the starts in `{name}` are {values.type}, and whole numbers of characters are needed")
    filled = pc.fill_null(values.cast(pa.int64()), _UNKNOWN)
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int64)


def _unknown(count: int) -> Array:
    return np.full(count, _UNKNOWN, dtype=np.int64)


def _unlike(name: str, kind: pa.DataType) -> DataError:
    return DataError(
        f"task: the column `{name}` holds {kind}, and answers are needed: a list of {{text, answer_start}}, "
        f"or lists under `text` and `answer_start`"
    )


def _misplaced(text: str, start: int, context: str) -> str:
    if not text.strip():
        return "has an empty answer"
    if start >= 0 and context.startswith(text, start):
        return ""
    if start == _UNKNOWN:
        return f"the answer {_short(text)} has no start; task.answer_offsets: repair finds it"
    at = f"at character {start} of the context, which has {_short(context[max(0, start) : start + len(text)])} there"
    return f"the answer {_short(text)} is not {at}" if text in context else f"the answer {_short(text)} is not in it"


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")


def _nearest(text: str, start: int, context: str) -> int:
    if not text or (start >= 0 and context.startswith(text, start)):
        return start
    before, after = context.rfind(text, 0, max(0, start) + len(text)), context.find(text, max(0, start))
    there = [place for place in (before, after) if place >= 0]
    return min(there, key=lambda place: abs(place - start), default=start)
