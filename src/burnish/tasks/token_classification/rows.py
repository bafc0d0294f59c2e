"""Words and tags as they stand in a table: lists of them, or plain text that is split into words."""

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.codecs.convert import TEXT_OR_WORDS, WORD
from burnish.errors import DataError
from burnish.spec.values import Array
from burnish.tasks.labels import is_list


@dataclass(frozen=True)
class TagItems:
    """The words or the tags of all rows, one after the other."""

    flat: pa.Array
    """Text; an empty one where there was none."""
    lengths: "Array"
    """How many each row has."""

    @property
    def row_of(self) -> "Array":
        """The row of each."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    @property
    def place_of(self) -> "Array":
        """The place of each in its row, from 0."""
        begins = np.cumsum(self.lengths) - self.lengths
        return np.asarray(np.arange(int(self.lengths.sum())) - np.repeat(begins, self.lengths))


def items_of(column: pa.ChunkedArray | pa.Array, *, name: str) -> TagItems:
    """Read a column of lists; a row without a list has no items."""
    if not is_list(column.type):
        raise DataError(
            f"task: the column `{name}` holds {column.type}, and a list is needed in each row, like "
            '["EU", "rejects"]; for files of CoNLL columns set data.format: conll'
        )
    lists = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_nested(lists.type.value_type):
        raise DataError(f"task: the column `{name}` holds {column.type}, and lists of plain words are needed")
    lists = lists.cast(pa.list_(pa.string()))
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return TagItems(pc.fill_null(lists.flatten(), ""), lengths.astype(np.int64))


@dataclass(frozen=True)
class TagTexts:
    """Words, and where each stands in the text of its row."""

    words: TagItems
    starts: "Array"
    """In characters."""
    texts: pa.Array | None = None
    """As given; None where words were given, which a space joins."""

    def between(self, firsts: "Array", ends: "Array") -> list[str]:
        """Return the texts from some words up to, not with, others of the same rows, counted over all rows."""
        if self.texts is None:
            words = self.words.flat.to_pylist()
            return [" ".join(words[first:end]) for first, end in zip(firsts.tolist(), ends.tolist(), strict=True)]
        texts = self.texts.to_pylist()
        rows, starts, stops = self.words.row_of[firsts], self.starts[firsts], self.ends[ends - 1]
        return [
            str(texts[row])[start:stop]
            for row, start, stop in zip(rows.tolist(), starts.tolist(), stops.tolist(), strict=True)
        ]

    @property
    def ends(self) -> "Array":
        """Where each word ends, in characters."""
        return np.asarray(self.starts + _sizes(self.words.flat))


def words_of(column: pa.ChunkedArray | pa.Array, *, name: str) -> TagTexts:
    """Read words given as lists, or find them in texts."""
    kind = column.type
    if pa.types.is_struct(kind):
        return _texts_and_words(column)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        texts = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        found = [list(WORD.finditer(text or "")) for text in texts.to_pylist()]
        flat = pa.array([match[0] for row in found for match in row], pa.string())
        starts = np.array([match.start() for row in found for match in row], dtype=np.int64)
        return TagTexts(TagItems(flat, np.array([len(row) for row in found], dtype=np.int64)), starts, texts)
    words = items_of(column, name=name)
    steps = _sizes(words.flat) + 1
    before = np.cumsum(steps) - steps
    begins = np.cumsum(words.lengths) - words.lengths
    firsts = np.append(before, 0)[np.minimum(begins, len(before))]
    return TagTexts(words, np.asarray(before - np.repeat(firsts, words.lengths)))


def _texts_and_words(column: pa.ChunkedArray | pa.Array) -> TagTexts:
    """Read a column in which some rows are texts and others lists of words, which a space joins."""
    flat: list[str] = []
    starts: list[int] = []
    lengths: list[int] = []
    texts: list[str] = []
    for row in column.to_pylist():
        words = row["words"]
        if words is None:
            text = row["text"]
            found = list(WORD.finditer(text))
            words = [match[0] for match in found]
            starts += [match.start() for match in found]
        else:
            text = " ".join(words)
            starts += accumulate((len(word) + 1 for word in words[:-1]), initial=0)
        flat += words
        lengths.append(len(words))
        texts.append(text)
    items = TagItems(pa.array(flat, pa.string()), np.array(lengths, dtype=np.int64))
    return TagTexts(items, np.array(starts, dtype=np.int64), pa.array(texts, pa.string()))


def _sizes(words: pa.Array) -> "Array":
    return np.asarray(pc.utf8_length(words).to_numpy(zero_copy_only=False), dtype=np.int64)


def rows_as_column(values: "list[Any]", *, names: str) -> pa.Array:
    """Put the words or texts of rows given one by one into a column; refuse what is neither, all at once."""
    wrong = [number for number, value in enumerate(values, start=1) if not (isinstance(value, str) or _is_words(value))]
    if wrong:
        shown = ", ".join(map(str, wrong[:10]))
        raise DataError(f"a row needs {names}: a text, or a list of words; row {shown} has neither")
    if all(isinstance(value, str) for value in values):
        return pa.array(values, pa.string())
    if not any(isinstance(value, str) for value in values):
        return pa.array(values, pa.list_(pa.string()))
    return pa.array(
        [{"text": value} if isinstance(value, str) else {"words": value} for value in values], TEXT_OR_WORDS
    )


def _is_words(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)
