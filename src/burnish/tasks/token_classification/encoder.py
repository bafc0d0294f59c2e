"""Words with their tags as features and batches; long sentences are read in windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from burnish.data.batching.padding import Padding, Template, pad, template_of, token_places
from burnish.data.batching.ragged import Ragged, gather, pack, pick, positions, view
from burnish.data.tokens.text import id_limits, length_problems, padding_of
from burnish.data.tokens.tokens import TextAssets, word_pieces
from burnish.data.tokens.truncate import cut_texts
from burnish.data.truncation import Windows
from burnish.errors import ConfigError
from burnish.metrics.entities import BEGIN, INSIDE, marks_of
from burnish.spec.protocols import Encoder
from burnish.spec.values import Array, Batch, FeatureLimit, Profile, RandomKey, RowFault, Rows
from burnish.tasks.token_classification.rows import items_of, words_of
from burnish.tasks.token_classification.schemes import TagReading

VERSION = 1
"""Goes up whenever the same words would give other features."""
IGNORED = -100
_NO_WORD = -1


@dataclass(frozen=True)
class TagEncoder(Encoder):
    """Encode a column of words and one of tags."""

    assets: TextAssets
    profile: Profile
    words: str
    tags: str
    max_length: int
    stride: int
    label_on: str
    impossible: str

    def __post_init__(self) -> None:
        problems = [*length_problems(self.assets, self._template, self.max_length, num_texts=1)]
        if problems:
            raise ConfigError(problems)

    @property
    def key(self) -> Mapping[str, object]:
        return {
            "tokenizer": self.assets.digest,
            "columns": [self.words, self.tags],
            "max_length": self.max_length,
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

    def encode(self, table: pa.Table) -> pa.Table:
        words = words_of(table[self.words], name=self.words).words
        pieces = pieces_of(word_pieces(words.flat, self.assets), words.lengths)
        cut = cut_pieces(pieces, room=self._room, stride=self.stride)
        is_answer = cut.is_answered & pieces.is_first[cut.tokens]
        word = np.where(is_answer, words.place_of[pieces.words[cut.tokens]], _NO_WORD)
        columns = {"a": pieces.ids[cut.tokens], "word": word}
        if self.tags in table.column_names:
            columns["label"] = self._labels(table, pieces, cut)
        lists = {name: pack(values.astype(np.int32), cut.lengths).to_arrow() for name, values in columns.items()}
        return pa.table({**lists, **self._numbers(pieces, cut)})

    def collate(self, features: pa.Table, indices: "Array", draw: RandomKey) -> "Batch":
        indices = np.asarray(indices, dtype=np.int64)
        ids = gather(features["a"], indices)
        batch = pad([ids], self._template, self._padding)
        places = token_places(ids.lengths, self._template, self._padding, width=batch["input_ids"].shape[1])
        batch["at_word"] = _spread(gather(features["word"], indices), places, like=batch, fill=_NO_WORD)
        batch["scored"] = batch["at_word"] != _NO_WORD
        if "label" in features.column_names:
            batch["label"] = _spread(gather(features["label"], indices), places, like=batch, fill=IGNORED)
        if draw.is_training:
            batch["scored"] = batch["label"] != IGNORED
        batch["row"] = pick(features["row"], indices)
        return batch

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterator[FeatureLimit]:
        ids, word = (view(features[name].chunk(0)) for name in ("a", "word"))
        yield from id_limits([("a", ids)], self.assets)
        yield FeatureLimit("number of tokens in a", ids.lengths, 1, self._room)
        length = ids.lengths + self._template.num_special
        yield FeatureLimit("length", features["length"].to_numpy(), length, length)
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

    @cached_property
    def _template(self) -> Template:
        return template_of(self.assets.tokenizer, num_texts=1)

    @property
    def _padding(self) -> Padding:
        return padding_of(self.assets)

    @property
    def _room(self) -> int:
        return self.max_length - self._template.num_special

    def _labels(self, table: pa.Table, pieces: Pieces, cut: CutTokens) -> "Array":
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
        marks = marks_of(self.profile.labels)
        if marks is None:
            return numbers
        for type_ in range(len(marks.names)):
            of_type = marks.types == type_
            begin, inside = (np.flatnonzero(of_type & (marks.places == place)) for place in (BEGIN, INSIDE))
            numbers[begin] = inside
        return numbers

    def _numbers(self, pieces: Pieces, cut: CutTokens) -> dict[str, pa.Array]:
        return {
            "row": pa.array(cut.rows, pa.int64()),
            "length": pa.array(cut.lengths + self._template.num_special, pa.int32()),
            "tokens": pa.array(pieces.lengths[cut.rows], pa.int32()),
            "dropped": pa.array(np.zeros(len(cut.rows)), pa.int32()),
        }


def _spread(values: Ragged, places: "Array", *, like: "Mapping[str, Array]", fill: int) -> "Array":
    spread = np.full(like["input_ids"].shape, fill, dtype=np.int64)
    spread.reshape(-1)[places] = values.values
    return spread


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


def pieces_of(by_word: Ragged, num_words: "Array") -> Pieces:
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
    begins = np.cumsum(pieces.lengths) - pieces.lengths
    within = pack(positions(np.zeros_like(begins), pieces.lengths), pieces.lengths)
    cut = cut_texts([within], Windows(stride=stride), room=room)
    windows, rows = cut.texts[0], cut.source
    tokens = windows.values + np.repeat(begins[rows], windows.lengths)
    if len(rows) == len(pieces.lengths):
        return CutTokens(tokens, windows.lengths, rows, np.ones(len(tokens), dtype=bool))
    context = _context(windows, pieces.lengths[rows])
    best = _best_feature(pieces, tokens, windows.lengths, context)
    feature_of = np.repeat(np.arange(len(rows)), windows.lengths)
    return CutTokens(tokens, windows.lengths, rows, best[pieces.words[tokens]] == feature_of)


def _context(windows: Ragged, text_lengths: "Array") -> "Array":
    """Tell how many tokens a window shows on the poorer side of each token; a side where the text ends lacks none."""
    starts = windows.values[windows.starts]
    place = positions(np.zeros_like(windows.starts), windows.lengths)
    sizes = np.repeat(windows.lengths, windows.lengths)
    is_cut_before = np.repeat(starts > 0, windows.lengths)
    is_cut_after = np.repeat(starts + windows.lengths < text_lengths, windows.lengths)
    plenty = np.iinfo(np.int64).max
    before = np.where(is_cut_before, place, plenty)
    after = np.where(is_cut_after, sizes - 1 - place, plenty)
    return np.minimum(before, after)


def _best_feature(pieces: Pieces, tokens: "Array", lengths: "Array", context: "Array") -> "Array":
    """Give for each word the feature in which its first token has the most context; of equals the first."""
    firsts = np.flatnonzero(pieces.is_first[tokens])
    words = pieces.words[tokens[firsts]]
    order = np.lexsort((firsts, -context[firsts], words))
    is_best = np.append(True, np.diff(words[order]) > 0) if len(order) else np.zeros(0, dtype=bool)
    chosen = firsts[order][is_best]
    return np.asarray(np.repeat(np.arange(len(lengths)), lengths)[chosen])
