"""Finds the chunks that tags such as B-PER mark, by the rules of conlleval, and scores what was tagged rightly."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from burnish.errors import ConfigError, Problem
from burnish.metrics.decisions import Counts
from burnish.metrics.sums import Array, dot, known_truth, over_set
from burnish.spec.values import Outcome

_SHOWN = 10
_RATES: dict[str, Callable[[Counts], Array]] = {"f1": Counts.f1, "precision": Counts.precision, "recall": Counts.recall}
OUTSIDE, BEGIN, INSIDE, END, SINGLE = range(5)
_PLACES = {"O": OUTSIDE, "B": BEGIN, "I": INSIDE, "E": END, "L": END, "S": SINGLE, "U": SINGLE}
_FORM = re.compile(r"O|([BIELSU])(?:-(.*))?", re.DOTALL)


def entity_scores(outcome: Outcome, weights: Array | None) -> Iterator[tuple[str | None, dict[str, Array]]]:
    """Score F1, precision and recall of all types (None), then of each type by its name."""
    marks = read_marks(outcome.labels)
    if marks is None:
        shown = ", ".join(outcome.labels[:_SHOWN])
        sentence = f"metrics: entities needs tags such as B-PER, I-PER and O, and the tags are {shown}"
        raise ConfigError([Problem(sentence)])
    truth, lengths = flat(known_truth(outcome))
    said, said_lengths = flat(outcome.decisions)
    assert np.array_equal(lengths, said_lengths), "every word has a tag"
    # Each row's chunks by type, [n, types]: a bootstrap then only weighs rows.
    counts = _count(find_chunks(said, lengths, marks), find_chunks(truth, lengths, marks), lengths, marks)
    whole = Counts(counts.hits.sum(axis=1), counts.predicted.sum(axis=1), counts.actual.sum(axis=1))
    for kind, rows in [(None, whole), *((name, counts.only(at)) for at, name in enumerate(marks.names))]:
        yield kind, {name: over_set(outcome, weights, _rate(rows, rate)) for name, rate in _RATES.items()}


def token_accuracy(outcome: Outcome, weights: Array | None) -> Array:
    """Average what is right over words, not rows."""
    truth, lengths = flat(known_truth(outcome))
    is_right = flat(outcome.decisions)[0] == truth
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    right = np.bincount(row_of, weights=is_right, minlength=len(lengths))
    words = lengths.astype(np.float64)
    return over_set(outcome, weights, lambda part: dot(part, right) / dot(part, words))


def flat(rows: Array) -> tuple[Array, Array]:
    """Put the tags of all rows one after the other, and tell how many each has."""
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    return np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum())), lengths


def _rate(rows: Counts, rate: Callable[[Counts], Array]) -> Callable[[Array], Array]:
    return lambda part: rate(Counts(dot(part, rows.hits), dot(part, rows.predicted), dot(part, rows.actual)))


def _count(said: Chunks, true: Chunks, lengths: Array, marks: ChunkMarks) -> Counts:
    size = (len(lengths), len(marks.names))
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    codes = _codes(said, len(row_of), num_types=size[1]), _codes(true, len(row_of), num_types=size[1])
    is_hit = codes[0][true.starts] == codes[1][true.starts]
    hits = Chunks(true.starts[is_hit], true.ends[is_hit], true.types[is_hit])
    return Counts(*(_table(chunks, row_of, size=size) for chunks in (hits, said, true)))


def _codes(chunks: Chunks, num_words: int, *, num_types: int) -> Array:
    """Write at the first word of each chunk a number that tells its end and type."""
    codes = np.full(num_words, -1, dtype=np.int64)
    codes[chunks.starts] = chunks.ends * max(1, num_types) + chunks.types
    return codes


def _table(chunks: Chunks, row_of: Array, *, size: tuple[int, int]) -> Array:
    keys = row_of[chunks.starts] * size[1] + chunks.types
    return np.bincount(keys, minlength=size[0] * size[1]).reshape(size).astype(np.float64)


@dataclass(frozen=True)
class ChunkMarks:
    """What each of some tags says: the place of a word in its chunk, and the chunk's type."""

    places: Array
    types: Array
    """Indices into `names`; -1 for a word outside of all chunks."""
    names: tuple[str, ...]


@dataclass(frozen=True)
class Chunks:
    """Runs of words that belong together: words `starts[i]` up to, not with, `ends[i]`, counted over all rows."""

    starts: Array
    ends: Array
    types: Array

    def __len__(self) -> int:
        return len(self.starts)


def read_marks(tags: Sequence[str]) -> ChunkMarks | None:
    """Read the tags of a scheme; None if one of them is no such tag, as in parts of speech."""
    found = [_FORM.fullmatch(tag) for tag in tags]
    read = [(match[1] or "O", match[2] or "") for match in found if match is not None]
    if len(read) < len(found):
        return None
    names = tuple(sorted({name for letter, name in read if letter != "O"}))
    types = [-1 if letter == "O" else names.index(name) for letter, name in read]
    return ChunkMarks(
        np.array([_PLACES[letter] for letter, _ in read], dtype=np.int64), np.array(types, np.int64), names
    )


def find_chunks(tags: Array, lengths: Array, marks: ChunkMarks) -> Chunks:
    """Find the chunks of rows whose tags stand one after the other; `lengths` has the number of words of each row.

    As in conlleval, a chunk need not begin as its scheme says: an I- after O, or after another type, opens one.
    """
    places, types = marks.places[tags], marks.types[tags]
    is_inside = places != OUTSIDE
    goes_on = find_continued(places, types, lengths)
    opens = is_inside & ~goes_on
    closes = is_inside & ~np.append(goes_on[1:], False)
    starts = np.flatnonzero(opens)
    return Chunks(starts, np.flatnonzero(closes) + 1, types[starts])


def find_continued(places: Array, types: Array, lengths: Array) -> Array:
    """Tell for each word whether it goes on with the chunk of the word before it."""
    before = np.append(OUTSIDE, places[:-1]) if len(places) else places
    type_before = np.append(-1, types[:-1]) if len(types) else types
    can_follow = np.isin(places, (INSIDE, END)) & np.isin(before, (BEGIN, INSIDE))
    return np.asarray(can_follow & (types == type_before) & ~row_starts(lengths))


def row_starts(lengths: Array) -> Array:
    """Mark the first word of each row."""
    total = int(np.sum(lengths))
    is_first = np.zeros(total, dtype=bool)
    begins = np.cumsum(lengths) - lengths
    is_first[begins[np.asarray(lengths) > 0]] = True
    return is_first
