"""Splits documents into sentences, and puts sentences together into stretches that fit a length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.batching.ragged import Ragged, pack
from burnish.spec.values import Array

_END_OF_SENTENCE = r"([.!?]['\")\]]*)[ \t]+"


def split_sentences(column: pa.ChunkedArray) -> tuple[pa.Array, Array]:
    """Give all sentences and the row of each: what a . ! or ? ends, or lines where a text has one a line.

    Lines that hold two sentences and more on average are paragraphs, and are split like running text.
    """
    texts = pc.fill_null(column.cast(pa.large_string()), "").combine_chunks()
    texts = texts if isinstance(texts, pa.Array) else pa.concat_arrays(texts.chunks)
    trimmed = pc.utf8_trim_whitespace(texts)
    lines = pc.add(pc.count_substring(trimmed, "\n"), 1)
    is_prose = pc.greater_equal(pc.count_substring_regex(trimmed, _END_OF_SENTENCE), lines)
    marked = pc.if_else(is_prose, pc.replace_substring_regex(trimmed, _END_OF_SENTENCE, "\\1\n"), trimmed)
    lists = pc.split_pattern(marked, "\n")
    return pc.utf8_trim_whitespace(lists.flatten()), pc.list_parent_indices(lists).to_numpy().astype(np.int64)


@dataclass(frozen=True)
class Stretches:
    """Runs of sentences of one row each; `cuts[i]` tells where in stretch i it may be cut in two."""

    tokens: Ragged
    rows: Array
    cuts: Ragged


def stretches(sentences: Ragged, rows: Array, *, room: int) -> Stretches:
    """Fill stretches of at most `room` tokens with whole sentences of a row; too long ones are cut, nothing is lost.

    A stretch of one sentence may be cut in its middle. Only a stretch of a single token is left out: it has no two
    sides.
    """
    lengths, rows = _fitting(sentences.packed().lengths, rows, room=room)
    lengths, rows = lengths[lengths > 0], rows[lengths > 0]
    first = _firsts(lengths, rows, room=room)
    sizes = np.add.reduceat(lengths, first) if len(first) else np.empty(0, dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    group = np.searchsorted(first, np.arange(len(lengths)), side="right") - 1
    inside = np.ones(len(lengths), dtype=bool)
    inside[first] = False
    places, counts = (starts - starts[first][group])[inside], np.bincount(group[inside], minlength=len(first))
    alone = np.flatnonzero(counts == 0)
    places = np.insert(places, np.cumsum(counts)[alone], sizes[alone] // 2)
    cuts = pack(places.astype(np.int32), np.maximum(counts, 1))
    whole = Stretches(pack(sentences.packed().values, sizes), rows[first], cuts)
    return _with_two_sides(whole)


def _fitting(lengths: Array, rows: Array, *, room: int) -> tuple[Array, Array]:
    """Cut sentences that are too long by themselves."""
    counts = np.maximum(1, -(-lengths // room))
    which = np.repeat(np.arange(len(lengths)), counts)
    number = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.minimum(room, lengths[which] - number * room), rows[which]


def _firsts(lengths: Array, rows: Array, *, room: int) -> Array:
    """Name the sentence that each stretch begins with: all rows are walked through side by side."""
    ends = np.cumsum(lengths)
    following = np.searchsorted(ends, ends - lengths + room, side="right")
    owner = np.append(rows, -1)
    walking = np.flatnonzero(np.diff(rows, prepend=-1))
    found = [walking]
    while len(walking):
        # A walk that leaves its row ends there: the next row has begun one of its own.
        walking = following[walking][owner[following[walking]] == owner[walking]]
        found.append(walking)
    return np.sort(np.concatenate(found))


def _with_two_sides(whole: Stretches) -> Stretches:
    kept = whole.tokens.lengths > 1
    if kept.all():
        return whole
    tokens, cuts = (
        Ragged(each.values, each.starts[kept], each.lengths[kept]).packed() for each in (whole.tokens, whole.cuts)
    )
    return Stretches(tokens, whole.rows[kept], cuts)
