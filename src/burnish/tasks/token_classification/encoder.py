"""Words with their tags as features and batches; long sentences are read in windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from burnish.data.batching.padding import locate_tokens
from burnish.data.batching.ragged import Ragged, gather, pack, positions, view
from burnish.data.tokens.text import choose_padding
from burnish.data.tokens.tokens import word_pieces
from burnish.metrics.entities import BEGIN, INSIDE, read_marks
from burnish.spec.values import Array, Batch, FeatureLimit, Profile, RandomKey, RowFault, Rows
from burnish.tasks.sequences import SequenceEncoder, WindowPlan, plan_windows
from burnish.tasks.token_classification.rows import items_of, words_of
from burnish.tasks.token_classification.schemes import TagReading

VERSION = 1
"""Goes up whenever the same words would give other features."""
IGNORED = -100
_NO_WORD = -1


@dataclass(frozen=True)
class TagEncoder(SequenceEncoder):
    """Encodes a column of words and one of tags."""

    profile: Profile
    words: str
    tags: str
    stride: int
    label_on: str
    impossible: str

    @property
    def key(self) -> Mapping[str, object]:
        return {
            "tokenizer": self.codec.assets.digest,
            "columns": [self.words, self.tags],
            "max_length": self.codec.max_length,
            "stride": self.stride,
            "label_on": self.label_on,
            "reading": self._reading.facts,
            "version": VERSION,
        }

    def faults(self, rows: Rows) -> list[RowFault]:
        words = items_of(rows.table[self.words], name=self.words)
        faults = [RowFault(int(row), f"{self.words} is empty") for row in np.flatnonzero(words.lengths == 0)]
        if self.tags not in rows.table.column_names:
            return faults
        tags = items_of(rows.table[self.tags], name=self.tags)
        is_even = words.lengths == tags.lengths
        faults += [
            RowFault(int(row), f"{self.words} has {words.lengths[row]} and {self.tags} {tags.lengths[row]} entries")
            for row in np.flatnonzero(~is_even & (words.lengths > 0))
        ]
        # Elsewhere nobody knows which tag belongs to which word.
        return [*faults, *self._unreadable(rows.table, np.flatnonzero(is_even))]

    def sequences(self, table: pa.Table) -> pa.Table:
        words = words_of(table[self.words], name=self.words).words
        pieces = split_words(word_pieces(words.flat, self.codec.assets), words.lengths)
        cut = cut_pieces(pieces, room=self.codec.room, stride=self.stride)
        is_answer = cut.is_answered & pieces.is_first[cut.tokens]
        word = np.where(is_answer, words.place_of[pieces.words[cut.tokens]], _NO_WORD)
        columns = {"a": pieces.ids[cut.tokens], "word": word}
        if self.tags in table.column_names:
            columns["label"] = self._label_tokens(table, pieces, cut)
        lists = {name: pack(values.astype(np.int32), cut.lengths).to_arrow() for name, values in columns.items()}
        numbers = {
            "row": pa.array(cut.rows, pa.int64()),
            "length": pa.array(cut.lengths + self.codec.template.num_special, pa.int32()),
            "tokens": pa.array(pieces.lengths[cut.rows], pa.int32()),
            "dropped": pa.array(np.zeros(len(cut.rows)), pa.int32()),
        }
        return pa.table({**lists, **numbers})

    def finish(self, batch: dict[str, Array], features: pa.Table, indices: Array, draw: RandomKey) -> Batch:
        def spread(name: str, *, fill: int) -> Array:
            laid = np.full(shape, fill, dtype=np.int64)
            laid.reshape(-1)[places] = gather(features[name], indices).values
            return laid

        shape, padding = batch["input_ids"].shape, choose_padding(self.codec.assets)
        lengths = gather(features["a"], indices).lengths
        places = locate_tokens(lengths, self.codec.template, padding, width=shape[1])
        batch["at_word"] = spread("word", fill=_NO_WORD)
        batch["scored"] = batch["at_word"] != _NO_WORD
        if "label" in features.column_names:
            batch["label"] = spread("label", fill=IGNORED)
        if draw.is_training:
            batch["scored"] = batch["label"] != IGNORED
        return batch

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterator[FeatureLimit]:
        ids, word = (view(features[name].chunk(0)) for name in ("a", "word"))
        yield from super().limits(features, num_rows=num_rows)
        yield FeatureLimit("number of tokens in a", ids.lengths, 1, self.codec.room)
        yield FeatureLimit("number of entries in word", word.lengths, ids.lengths, ids.lengths)
        yield FeatureLimit("word", word.values, _NO_WORD, np.inf)
        if "label" not in features.column_names:
            return
        label = view(features["label"].chunk(0))
        yield FeatureLimit("number of entries in label", label.lengths, ids.lengths, ids.lengths)
        known = np.where(label.values == IGNORED, 0, label.values)
        yield FeatureLimit("label", known, 0, len(self.profile.labels) - 1)

    def _unreadable(self, table: pa.Table, even: "Array") -> Iterator[RowFault]:
        """Tell of rows with as many tags as words which tags cannot be read."""
        sound = table.select([self.words, self.tags]).take(pa.array(even))
        words, tags = (items_of(sound[name], name=name) for name in (self.words, self.tags))
        for fault in self._reading.faults(tags, words, is_order_asked=self.impossible == "error"):
            yield RowFault(int(even[fault.row]), fault.what)

    @cached_property
    def _reading(self) -> TagReading:
        return TagReading.of(self.profile)

    def _label_tokens(self, table: pa.Table, pieces: Pieces, cut: CutTokens) -> "Array":
        by_word = self._reading.numbers(items_of(table[self.tags], name=self.tags))
        labels = by_word[pieces.words[cut.tokens]]
        is_first = pieces.is_first[cut.tokens]
        if self.label_on == "first":
            return np.where(cut.is_answered & is_first, labels, IGNORED)
        return np.where(cut.is_answered, np.where(is_first, labels, self._inside[labels]), IGNORED)

    @cached_property
    def _inside(self) -> "Array":
        """For each label, that of the later tokens of its word: I after B, else the same."""
        numbers = np.arange(len(self.profile.labels))
        marks = read_marks(self.profile.labels)
        if marks is None:
            return numbers
        for type_ in range(len(marks.names)):
            of_type = marks.types == type_
            begin, inside = (np.flatnonzero(of_type & (marks.places == place)) for place in (BEGIN, INSIDE))
            numbers[begin] = inside
        return numbers


@dataclass(frozen=True)
class Pieces:
    """The tokens of all rows, one row after the other."""

    ids: "Array"
    words: "Array"
    """To which word each belongs, counted over all rows."""
    is_first: "Array"
    """Whether it is the first of its word."""
    lengths: "Array"
    """How many each row has."""


@dataclass(frozen=True)
class CutTokens:
    """Features of at most so many tokens: token i of them all is token `tokens[i]` of the rows."""

    tokens: "Array"
    lengths: "Array"
    """How many each feature has."""
    rows: "Array"
    """The row of each feature."""
    is_answered: "Array"
    """For each token, whether its word is answered in this feature; each word is in exactly one."""


def split_words(by_word: Ragged, num_words: "Array") -> Pieces:
    """Lay the tokens of words (packed) out by rows, the first `num_words[0]` words being those of row 0."""
    is_first = np.zeros(len(by_word.values), dtype=bool)
    is_first[by_word.starts] = True
    ends = np.cumsum(num_words)
    totals = np.append(0, np.cumsum(by_word.lengths))
    lengths = totals[ends] - totals[ends - num_words]
    words = np.repeat(np.arange(len(by_word)), by_word.lengths)
    return Pieces(by_word.values, words, is_first, lengths)


def cut_pieces(pieces: Pieces, *, room: int, stride: int) -> CutTokens:
    """Cut rows of more than `room` tokens into windows that share `stride` tokens."""
    rooms = np.full(len(pieces.lengths), room)
    plan = plan_windows(pieces.lengths, rooms, stride=stride, is_last_full=True)
    begins = np.cumsum(pieces.lengths) - pieces.lengths
    tokens = positions(begins[plan.source] + plan.starts, plan.lengths)
    if len(plan.source) == len(pieces.lengths):
        return CutTokens(tokens, plan.lengths, plan.source, np.ones(len(tokens), dtype=bool))
    # Each word is of the feature in which its first token has the most context; of equals the first.
    firsts = np.flatnonzero(pieces.is_first[tokens])
    words = pieces.words[tokens[firsts]]
    order = np.lexsort((firsts, -_count_context(pieces, plan)[firsts], words))
    is_best = np.append(True, np.diff(words[order]) > 0) if len(order) else np.zeros(0, dtype=bool)
    feature_of = np.repeat(np.arange(len(plan.source)), plan.lengths)
    best = feature_of[firsts[order][is_best]]
    return CutTokens(tokens, plan.lengths, plan.source, best[pieces.words[tokens]] == feature_of)


def _count_context(pieces: Pieces, plan: WindowPlan) -> Array:
    """Count the tokens that a window shows on the poorer side of each token; a side where the text ends lacks none."""
    place = positions(np.zeros_like(plan.starts), plan.lengths)
    sizes = np.repeat(plan.lengths, plan.lengths)
    is_cut_before = np.repeat(plan.starts > 0, plan.lengths)
    is_cut_after = np.repeat(plan.starts + plan.lengths < pieces.lengths[plan.source], plan.lengths)
    plenty = np.iinfo(np.int64).max
    return np.minimum(np.where(is_cut_before, place, plenty), np.where(is_cut_after, sizes - 1 - place, plenty))
