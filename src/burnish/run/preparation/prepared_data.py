"""Data that is ready to train on: that of each task, and of all tasks of a run as one."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from burnish.data.rows import join as join_rows
from burnish.spec.parts import ALONE, join_profiles
from burnish.spec.protocols import Assets, Encoder
from burnish.spec.values import Array, Batch, Profile, RandomKey, Rows

Collate = Callable[[Array, RandomKey], Batch]

_BATCHES_BEFORE_RELEASE = 64
"""A batch looks at some dozens of pages; given back this often, a mapped file takes some megabytes of memory."""


@dataclass(frozen=True)
class PreparedTask:
    """The data of one task; without features until they are encoded."""

    rows: Mapping[str, Rows]
    features: Mapping[str, pa.Table]
    profile: Profile
    assets: Assets
    encoder: Encoder
    facts: Mapping[str, object]
    """Numbers to show once."""
    releases: Mapping[str, Callable[[], None]] = field(default_factory=dict)
    """Ways to give back the memory of features that were looked at."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """The digest of each file that was read."""
    fingerprint: str = ""
    """Of all that the source gave."""

    def collate(self, split: str) -> Collate:
        """Make what builds batches of a split; now and then it gives back memory, which would grow with the file."""
        features, release = self.features[split], self.releases.get(split, lambda: None)
        count = itertools.count(1)

        def build(indices: Array, draw: RandomKey) -> Batch:
            if next(count) % _BATCHES_BEFORE_RELEASE == 0:
                release()
            return self.encoder.collate(features, indices, draw)

        return build

    def batch_of(self, split: str, rows: Array | None = None) -> Batch:
        """Build one batch of rows of a split, by default all, as they are when predicted."""
        features = self.features[split]
        draw = RandomKey(seed=0, epoch=0, is_training=False)
        return self.encoder.collate(features, np.arange(features.num_rows) if rows is None else rows, draw)


@dataclass(frozen=True)
class PreparedData:
    """The data of a run. Examples of several tasks are numbered one task after the other; a batch is of one task."""

    parts: Mapping[str, PreparedTask]
    """By task."""

    @property
    def only(self) -> PreparedTask | None:
        """The data of the only task; None where there are several."""
        return self.parts.get(ALONE)

    @cached_property
    def rows(self) -> Mapping[str, Rows]:
        """The rows of each split; of several tasks, the name of the task and the place each was read from."""
        if self.only:
            return self.only.rows
        return {split: self._joined_rows(split) for split in self._splits()}

    @cached_property
    def features(self) -> Mapping[str, pa.Table]:
        """The features of each split; of several tasks, their `length` alone."""
        if self.only:
            return self.only.features
        return {split: self._joined_lengths(split) for split in self._splits()}

    @property
    def profile(self) -> Profile:
        """What the training rows looked like."""
        profiles = {name: part.profile for name, part in self.parts.items()}
        return profiles[ALONE] if self.only else join_profiles(profiles)

    @property
    def assets(self) -> Assets:
        """What the model brings besides weights, which is the same for every task."""
        return next(iter(self.parts.values())).assets

    @property
    def facts(self) -> Mapping[str, object]:
        """Numbers to show once; of several tasks, the rows in all and those of each to learn from."""
        if self.only:
            return self.only.facts
        rows = {f"{split}_rows": len(rows) for split, rows in self.rows.items()}
        return {**rows, "tasks": ", ".join(f"{name} {len(part.rows['train']):,}" for name, part in self.parts.items())}

    @property
    def digests(self) -> Mapping[str, str]:
        """The digest of each file that was read for any task."""
        return {file: digest for part in self.parts.values() for file, digest in part.digests.items()}

    def collate(self, split: str) -> Collate:
        """Make what builds batches of examples that are all of one task; rows are numbered as in `rows`."""
        if self.only:
            return self.only.collate(split)
        parts = [part for part in self.parts.values() if split in part.features]
        builds = [part.collate(split) for part in parts]
        starts = np.cumsum([0, *(len(part.features[split]) for part in parts)])
        first_rows = np.cumsum([0, *(len(part.rows[split]) for part in parts)])

        def build(indices: Array, draw: RandomKey) -> Batch:
            which = int(np.searchsorted(starts, indices[0], side="right")) - 1
            batch = builds[which](indices - starts[which], draw)
            return {**batch, "row": batch["row"] + first_rows[which]} if "row" in batch else batch

        return build

    def _splits(self) -> list[str]:
        return [*dict.fromkeys(itertools.chain.from_iterable(part.rows for part in self.parts.values()))]

    def _joined_rows(self, split: str) -> Rows:
        there = {name: part.rows[split] for name, part in self.parts.items() if split in part.rows}
        return join_rows([Rows(pa.table({"task": [name] * len(rows)}), rows.places) for name, rows in there.items()])

    def _joined_lengths(self, split: str) -> pa.Table:
        there = [part.features[split]["length"] for part in self.parts.values() if split in part.features]
        return pa.table({"length": pa.chunked_array([chunk for column in there for chunk in column.chunks])})
