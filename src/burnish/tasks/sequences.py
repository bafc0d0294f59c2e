"""Rows as sequences of tokens with labels: what the encoders of text tasks share, and the windows of long texts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.batching.ragged import pick
from burnish.data.tokens.text import TextCodec
from burnish.spec.protocols import Encoder
from burnish.spec.values import Array, Batch, FeatureLimit, RandomKey, RowFault


@dataclass(frozen=True)
class SequenceEncoder(Encoder):
    """Encodes rows as token sequences under a length limit; a task fills in `sequences`, `labels` and `finish`."""

    codec: TextCodec

    @abstractmethod
    def sequences(self, table: pa.Table) -> pa.Table:
        """Tokenise the rows of a table: ids, `row`, `length`, and whatever `finish` needs."""

    def labels(self, table: pa.Table, features: pa.Table) -> pa.Array | None:
        """Read one label a feature; None where the table has none."""
        return None

    def pad(self, features: pa.Table, indices: Array, draw: RandomKey) -> dict[str, Array]:
        """Lay sequences out in one rectangle, padded to the longest."""
        return self.codec.collate(features, indices, draw)

    def finish(self, batch: dict[str, Array], features: pa.Table, indices: Array, draw: RandomKey) -> Batch:
        """Add to a padded batch what the network learns from and what answers are put together by."""
        if "label" in features.column_names:
            batch["label"] = pick(features["label"], indices)
        return batch

    def encode(self, table: pa.Table) -> pa.Table:
        features = self.sequences(table)
        labels = self.labels(table, features)
        return features if labels is None else features.append_column("label", labels)

    def collate(self, features: pa.Table, indices: Array, draw: RandomKey) -> Batch:
        indices = np.asarray(indices, dtype=np.int64)
        batch = self.pad(features, indices, draw)
        batch["row"] = pick(features["row"], indices)
        return self.finish(batch, features, indices, draw)

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterator[FeatureLimit]:
        yield from self.codec.limits(features)
        yield self.codec.length_limit(features)


def find_empty_texts(table: pa.Table, *names: str) -> list[RowFault]:
    """List the rows in which all of these columns, which are read as one text, hold nothing but blanks."""
    texts = [pc.fill_null(table[name].cast(pa.large_string()), "") for name in names]
    blank = np.all([pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(text)), 0).to_numpy() for text in texts], axis=0)
    what = f"{names[0]} is empty" if len(names) == 1 else f"{' and '.join(names)} are empty"
    return [RowFault(int(row), what) for row in np.flatnonzero(blank)]


@dataclass(frozen=True)
class WindowPlan:
    """Windows one after the other, in row order: each reads `lengths` tokens of a row's text from `starts` on."""

    source: Array
    starts: Array
    lengths: Array

    def local(self, firsts: Array, lasts: Array) -> Array:
        """Count first and last token of each row within each window [w, 2]; -1 where they do not fit in."""
        begin, end = firsts[self.source] - self.starts, lasts[self.source] - self.starts
        inside = (firsts[self.source] >= 0) & (begin >= 0) & (begin <= end) & (end < self.lengths)
        return np.where(inside[:, None], np.stack([begin, end], axis=1), -1)


def plan_windows(sizes: Array, rooms: Array, *, stride: int, is_last_full: bool = False) -> WindowPlan:
    """Cover texts of so many tokens by windows of at most `rooms` tokens; two neighbours share `stride` of them.

    The last window begins a step after the one before it, or with `is_last_full` so early that it ends with the text.
    """
    rooms = np.maximum(rooms, 1)
    steps = rooms - np.minimum(stride, rooms - 1)
    beyond = np.maximum(sizes - rooms, 0)
    counts = 1 + -(-beyond // steps)
    source = np.repeat(np.arange(len(sizes)), counts)
    starts = (np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)) * steps[source]
    if is_last_full:
        starts = np.minimum(starts, beyond[source])
    return WindowPlan(source, starts, np.minimum(rooms[source], sizes[source] - starts))
