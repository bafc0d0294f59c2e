"""Words with their tags as features and batches."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from burnish.data.batching.padding import Padding, Template, pad, template_of, token_places
from burnish.data.batching.ragged import Ragged, gather, pack, pick, view
from burnish.data.tokens.text import id_limits, length_problems, padding_of
from burnish.data.tokens.tokens import TextAssets, word_pieces
from burnish.errors import ConfigError
from burnish.metrics.entities import BEGIN, INSIDE, marks_of
from burnish.spec.protocols import Encoder
from burnish.spec.values import Array, Batch, FeatureLimit, Profile, RandomKey, RowFault, Rows
from burnish.tasks.token_classification.reading import TagReading
from burnish.tasks.token_classification.rows import items_of, words_of
from burnish.tasks.token_classification.windows import CutTokens, Pieces, cut_pieces, pieces_of

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
        """All that shapes the features."""
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
        """List rows without words, with more or fewer tags than words, or with tags that cannot be."""
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
        """Give features: token ids, the word that is answered at each, its label if the table has tags."""
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
        """Build one batch that asks for an answer at every word once, or in training wherever there is a label."""
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
        """Give the limits of token ids, lengths, words and tags."""
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
