"""Reads records of token ids, as BERT's scripts write them, as the texts that they were made of.

The ids are put back into words, so that a run on them has texts to show, and its artifact reads texts. Their tokens
are the same again; a tokenizer that makes others of most texts is refused.
"""

import os
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.batching.ragged import Ragged, pack, view
from burnish.data.inspection.faults import BadRow
from burnish.data.readers.read_squad import ANSWERS
from burnish.data.sources.address import PACKAGE, package_path
from burnish.data.tfrecord import ROLES, Role, TfRecords
from burnish.errors import DataError
from burnish.spec.values import Array, Rows

_BORDERS = ("[CLS]", "[SEP]", "[PAD]", "<s>", "</s>", "<pad>", "<cls>", "<sep>")
_WORD_START = "▁"
_FILES = ("tokenizer.json", "vocab.txt")
_NO_LABEL = (-1, -100)
_MOST_OTHER = 0.5
"""From this share of texts on that come to other tokens, the tokenizer must be another."""
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class TokenSpelling:
    """What each token reads, with a space where it begins a word."""

    source: str
    tokenizer: Any
    """Of the library `tokenizers`."""

    @cached_property
    def spelled(self) -> pa.Array:
        """The text of each token."""
        known = self.tokenizer.get_vocab(with_added_tokens=True)
        tokens = [""] * (1 + max(known.values(), default=-1))
        for token, number in known.items():
            tokens[number] = token
        prefix = getattr(self.tokenizer.model, "continuing_subword_prefix", None)
        if prefix:
            return pa.array([token[len(prefix) :] if token.startswith(prefix) else f" {token}" for token in tokens])
        if any(token.startswith(_WORD_START) for token in tokens):
            return pa.array([token.replace(_WORD_START, " ") for token in tokens])
        raise DataError(
            f"data.tokenizer: the tokens of {self.source} do not show where a word begins; records of WordPiece and "
            "SentencePiece tokens can be read"
        )

    @cached_property
    def is_border(self) -> Array:
        """Tell which tokens only mark where a text begins or ends."""
        numbers = [self.tokenizer.token_to_id(token) for token in _BORDERS]
        return np.isin(np.arange(len(self.spelled)), [number for number in numbers if number is not None])

    def count_others(self, texts: list[str], wanted: list[Array]) -> int:
        """Count the texts that come to other tokens than these."""
        count = 0
        for start in range(0, len(texts), _ROWS_AT_ONCE):
            some = self.tokenizer.encode_batch_fast(texts[start : start + _ROWS_AT_ONCE], add_special_tokens=False)
            count += sum(
                not np.array_equal(each.ids, ids)
                for each, ids in zip(some, wanted[start : start + _ROWS_AT_ONCE], strict=True)
            )
        return count


def open_vocabulary(written: str) -> TokenSpelling:
    """Find and read what records were tokenised with."""
    path = package_path(written, option="data.tokenizer") if written.startswith(PACKAGE) else Path(written).expanduser()
    if path.is_dir():
        path = next((path / name for name in _FILES if (path / name).is_file()), path / _FILES[0])
    if not path.is_file():
        raise DataError(f"data.tokenizer: there is no file {path}; name a {' or '.join(_FILES)}, or a folder with one")
    return _read_vocabulary(str(path), written, os.stat(path).st_mtime_ns)


@lru_cache(maxsize=2)
def _read_vocabulary(path: str, written: str, _changed: int) -> TokenSpelling:
    from tokenizers import BertWordPieceTokenizer, Tokenizer

    try:
        if path.endswith(".json"):
            tokenizer = Tokenizer.from_file(path)
        else:  # the texts are in the case of the vocabulary already
            tokenizer = BertWordPieceTokenizer(path, lowercase=False, strip_accents=False)._tokenizer
    except Exception as error:  # the library raises bare Exception
        raise DataError(f"data.tokenizer: {written} is not a tokenizer that can be read: {error}") from error
    tokenizer.no_truncation()  # many published files carry one of their own
    tokenizer.no_padding()
    return TokenSpelling(written, tokenizer)


def read_encoded(rows: Rows, bad: list[BadRow], *, name: str, options: TfRecords) -> tuple[Rows, list[BadRow]]:
    """Turn rows of token ids into rows of texts, words or questions; records of padding are left out."""
    assert options.tokenizer is not None, "else the features stay as they are"
    given = _Records(rows.table, open_vocabulary(options.tokenizer), options, name)
    faults = given.faults()
    sound = np.array([row for row in range(len(rows)) if row not in faults and given.is_real[row]], dtype=np.int64)
    more = [BadRow(f"{name} record {int(rows.places.numbers[row]) + 1}", None, why, "") for row, why in faults.items()]
    kept = _Records(rows.table.take(sound), given.vocabulary, options, name)
    table, source = kept.columns()
    return Rows(table, rows.places.take(sound[source])), [*bad, *more]


@dataclass(frozen=True)
class _Records:
    table: pa.Table
    vocabulary: TokenSpelling
    options: TfRecords
    name: str

    def columns(self) -> tuple[pa.Table, Array]:
        """Give the columns that a task reads, and the record of each row."""
        every = np.arange(len(self.table))
        if self.has("start"):
            return self._questions(), every
        if self.has("label") and self._are_tags:
            # A word begins at each token that has a tag of its own.
            labels = self.lists("label").values
            where = np.flatnonzero(self._segments >= 0)
            begins = ~np.isin(labels[where], _NO_LABEL)
            row, number = self._row_of[where], np.cumsum(begins)
            starts = np.flatnonzero(begins)
            belongs = (number > 0) & (row == row[starts[np.maximum(number - 1, 0)]]) if len(starts) else begins
            pieces = self.vocabulary.spelled.take(pa.array(self.tokens.values[where[belongs]]))
            pieces = pc.utf8_ltrim(pieces, characters=" ")
            words = _joined(pieces, np.bincount(number[belongs] - 1, minlength=len(starts)))
            counts = np.bincount(row[starts], minlength=len(self.tokens))
            offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
            tags = self._classes(labels[where[starts]]).cast(pa.string())
            lists = {"words": words, "tags": tags}
            return pa.table({name: pa.ListArray.from_arrays(offsets, each) for name, each in lists.items()}), every
        first, second = self._text(0), self._text(1)
        self._refuse_others([0, 1], [first, second])
        if self.has("hidden_at"):
            return self._documents(first, second)
        texts = {"text": first} | ({"pair": second} if pc.any(pc.not_equal(second, "")).as_py() else {})
        return pa.table({**texts, **self._labels()}), every

    def faults(self) -> dict[int, str]:
        """Say what is wrong with each record that cannot be read."""
        faults: dict[int, str] = {}
        alike: list[Role] = ["mask", "segments"]
        if self.has("label") and self._are_tags:
            alike.append("label")
        for role in alike:
            if self.has(role):
                lengths = self.lists(role).lengths
                for row in np.flatnonzero(lengths != self.tokens.lengths):
                    faults[int(row)] = (
                        f"its {self.named(role)} holds {lengths[row]} values for {self.tokens.lengths[row]} tokens"
                    )
        size = len(self.vocabulary.spelled)
        odd = (self.tokens.values < 0) | (self.tokens.values >= size)
        for row in np.unique(self._row_of[odd]):
            faults[int(row)] = f"it holds a token that {self.vocabulary.source} lacks, which has {size:,}"
        places: tuple[Role, ...] = ("hidden_at", "start", "end")
        for role in places:
            if self.has(role):
                found = self.lists(role)
                of_row = np.repeat(np.arange(len(found)), found.lengths)
                beyond = (found.values < 0) | (found.values >= self.tokens.lengths[of_row])
                for row in np.unique(of_row[beyond]):
                    faults[int(row)] = f"its {self.named(role)} point beyond its tokens"
        return faults

    @cached_property
    def is_real(self) -> Array:
        """Tell which records are no padding of a batch."""
        return self.lists("real").values == 1 if self.has("real") else np.ones(len(self.table), dtype=bool)

    def named(self, role: Role) -> str:
        """Say what the records call a part; the first of the usual names where they have none."""
        names = (self.options.features[role],) if role in self.options.features else ROLES[role]
        return next((name for name in names if name in self.table.column_names), names[0])

    def has(self, role: Role) -> bool:
        """Tell whether the records hold a part."""
        return self.named(role) in self.table.column_names

    def lists(self, role: Role) -> Ragged:
        """Give the numbers of a part, record by record."""
        name = self.named(role)
        if name not in self.table.column_names:
            there = ", ".join(self.table.column_names)
            raise DataError(
                f"{self.name} has no feature {name}, and no other was named by data.features; it has {there}"
            )
        column = self.table[name].combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
        if pa.types.is_list(column.type):
            found = view(column.cast(pa.list_(pa.int64()))).packed()
            return Ragged(found.values.astype(np.int64), found.starts, found.lengths)
        if not pa.types.is_integer(column.type):
            raise DataError(f"{self.name}: {name} holds {column.type}, and whole numbers belong there")
        return pack(column.drop_null().to_numpy(), column.is_valid().to_numpy(zero_copy_only=False).astype(np.int64))

    @cached_property
    def tokens(self) -> Ragged:
        """The tokens, with those that were hidden put back."""
        tokens = self.lists("tokens")
        if not self.has("hidden_at"):
            return tokens
        places, hidden = self.lists("hidden_at"), self.lists("hidden")
        at = np.repeat(tokens.starts, places.lengths) + places.values
        counts = self._weights[: len(at)] > 0 if self._weights is not None else np.ones(len(at), dtype=bool)
        fits = counts & (places.values < np.repeat(tokens.lengths, places.lengths)) & (places.values >= 0)
        values = tokens.values.copy()
        values[at[fits]] = hidden.values[fits]
        return Ragged(values, tokens.starts, tokens.lengths)

    @cached_property
    def _weights(self) -> Array | None:
        name = self.named("hidden_weight")
        if name not in self.table.column_names:
            return None
        column = self.table[name].combine_chunks()
        flat = column.flatten() if pa.types.is_list(column.type) else column
        return np.asarray(flat.to_numpy(zero_copy_only=False), dtype=np.float64)

    @cached_property
    def _row_of(self) -> Array:
        return np.repeat(np.arange(len(self.tokens)), self.tokens.lengths)

    @cached_property
    def _segments(self) -> Array:
        """Which text each token is of; -1 for padding and marks."""
        ids = self.tokens.values
        found = self.lists("segments").values if self.has("segments") else np.zeros(len(ids), dtype=np.int64)
        is_text = ~self.vocabulary.is_border[ids]
        if self.has("mask"):
            is_text &= self.lists("mask").values == 1
        return np.where(is_text, found, -1)

    def _of(self, segment: int) -> tuple[Array, Array]:
        """Give where the tokens of a text stand, and how many each record has."""
        where = np.flatnonzero(self._segments == segment)
        return where, np.bincount(self._row_of[where], minlength=len(self.tokens))

    def _text(self, segment: int) -> pa.Array:
        where, counts = self._of(segment)
        spelled = self.vocabulary.spelled.take(pa.array(self.tokens.values[where]))
        return pc.utf8_ltrim(_joined(spelled, counts), characters=" ")

    def _refuse_others(self, segments: list[int], texts: list[pa.Array]) -> None:
        """Refuse a tokenizer that makes other tokens of most texts."""
        count, total = 0, sum(pc.sum(pc.not_equal(text, "")).as_py() or 0 for text in texts)
        for segment, text in zip(segments, texts, strict=True):
            where, counts = self._of(segment)
            ids = pack(self.tokens.values[where], counts)
            count += self.vocabulary.count_others(text.to_pylist(), [ids[row] for row in range(len(ids))])
        if count > _MOST_OTHER * total:
            raise DataError(
                f"{self.name}: {count:,} of its {total:,} texts come to other tokens than were written; "
                f"data.tokenizer must be what the records were made with, and {self.vocabulary.source} is not"
            )

    @property
    def _are_tags(self) -> bool:
        """Tell whether there is a label for each token, and not for each record."""
        lengths = self.lists("label").lengths if self._has_whole_labels else np.zeros(1, dtype=np.int64)
        return bool(len(lengths)) and bool(lengths.max(initial=0) > 1) and len(self.options.labels) != lengths.max()

    @property
    def _has_whole_labels(self) -> bool:
        kind = self.table[self.named("label")].type
        return bool(pa.types.is_integer(kind) or (pa.types.is_list(kind) and pa.types.is_integer(kind.value_type)))

    def _labels(self) -> dict[str, pa.Array]:
        if not self.has("label"):
            return {}
        if not self._has_whole_labels:
            return {"label": self.table[self.named("label")]}
        labels, names = self.lists("label"), self.options.labels
        if labels.lengths.max(initial=1) > 1:  # 0 or 1 for each of several labels
            each = labels.values.reshape(len(labels), -1)
            return {name: pa.array(each[:, number]) for number, name in enumerate(names)}
        return {"label": self._classes(labels.values)}

    def _classes(self, numbers: Array) -> pa.Array:
        names = self.options.labels
        if not names:
            return pa.array(numbers)
        if numbers.max(initial=0) >= len(names) or numbers.min(initial=0) < 0:
            raise DataError(
                f"{self.name} holds the class {numbers.max()}, and data.labels names {len(names)}, from 0 on"
            )
        return pa.array(names).take(pa.array(numbers))

    def _questions(self) -> pa.Table:
        """Give question, context and answers; the places of tokens become those of characters."""
        question, context = self._text(0), self._text(1)
        self._refuse_others([0, 1], [question, context])
        where, counts = self._of(1)
        spelled = self.vocabulary.spelled.take(pa.array(self.tokens.values[where]))
        ends = np.zeros(len(self.tokens.values) + 1, dtype=np.int64)
        lengths = pc.utf8_length(spelled).to_numpy()
        ends[where + 1] = lengths
        before = np.cumsum(ends)[:-1]  # characters before each token, over all records
        firsts = np.cumsum(counts) - counts
        is_led = np.zeros(len(counts), dtype=bool)
        led = pc.starts_with(spelled, " ").to_numpy(zero_copy_only=False)
        is_led[counts > 0] = led[firsts[counts > 0]]
        base = np.zeros(len(counts), dtype=np.int64)
        base[counts > 0] = before[where[firsts[counts > 0]]]
        base += is_led
        start, end = (self.tokens.starts + self.lists(role).values for role in ("start", "end"))
        spaces = np.zeros(len(self.tokens.values), dtype=np.int64)
        spaces[where] = led
        width = np.zeros(len(self.tokens.values), dtype=np.int64)
        width[where] = lengths
        begin = before[start] - base + spaces[start]
        stop = before[end] + width[end] - base
        answered = (self._segments[start] == 1) & (self._segments[end] == 1) & (start <= end)
        if self.has("impossible"):
            answered &= self.lists("impossible").values != 1
        texts = context.to_pylist()
        answers = [
            [{"text": text[low:high], "start": low}] if is_there else []
            for text, low, high, is_there in zip(texts, begin.tolist(), stop.tolist(), answered.tolist(), strict=True)
        ]
        ids = self.lists("id").values if self.has("id") else np.arange(len(texts))
        return pa.table({
            "id": pa.array(ids).cast(pa.string()), "question": question, "context": context,
            "answers": pa.array(answers, ANSWERS),
        })  # fmt: skip

    def _documents(self, first: pa.Array, second: pa.Array) -> tuple[pa.Table, Array]:
        """Give the texts that tokens were hidden in; two that do not follow each other are two rows."""
        has_second = pc.not_equal(second, "").to_numpy(zero_copy_only=False)
        is_other = has_second & (self.lists("next").values == 1) if self.has("next") else np.zeros_like(has_second)
        follows = pa.array(has_second & ~is_other)
        whole = pc.if_else(follows, pc.binary_join_element_wise(first, second, "\n"), first)
        every, apart = np.arange(len(first)), np.flatnonzero(is_other)
        source = np.concatenate([every, apart])
        order = np.argsort(source, kind="stable")
        texts = pa.concat_arrays([whole, second.take(pa.array(apart))]).take(pa.array(order))
        return pa.table({"text": texts}), source[order]


def _joined(pieces: pa.Array, counts: Array) -> pa.Array:
    """Put so many pieces together at a time."""
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32())
    return pc.binary_join(pa.ListArray.from_arrays(offsets, pieces), "")
