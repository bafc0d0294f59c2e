"""The data of several tasks as one: their training examples numbered one task after the other."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from burnish.data.batching.mixture import Grouped
from burnish.data.rows import join as join_rows
from burnish.spec.parts import joined_profile
from burnish.spec.protocols import Assets
from burnish.spec.values import Array, Batch, Profile, RandomKey, Rows

if TYPE_CHECKING:
    from burnish.run.preparation.prepare import PreparedTask


@dataclass(frozen=True)
class JointPrepared:
    """The data of several tasks; batches are each of one of them, and say of which."""

    parts: "Mapping[str, PreparedTask]"
    rows: Mapping[str, Rows]
    """Of each row the name of its task, and the place it was read from."""
    features: Mapping[str, pa.Table]
    """Of each example its length."""

    @property
    def profile(self) -> Profile:
        """The profiles of all tasks."""
        return joined_profile({name: part.profile for name, part in self.parts.items()})

    @property
    def assets(self) -> Assets:
        """What the model brings, which is the same for every task."""
        return next(iter(self.parts.values())).assets

    @property
    def facts(self) -> Mapping[str, object]:
        """Rows in all, and those of each task to learn from."""
        rows = {f"{split}_rows": len(rows) for split, rows in self.rows.items()}
        return {**rows, "tasks": ", ".join(f"{name} {len(part.rows['train']):,}" for name, part in self.parts.items())}

    @property
    def digests(self) -> Mapping[str, str]:
        """The digest of each file that was read for any task."""
        return {file: digest for part in self.parts.values() for file, digest in part.digests.items()}

    def collate(self, split: str) -> "Callable[[Array, RandomKey], Batch]":
        """Give what builds batches of examples that are all of one task; rows are numbered as in `rows`."""
        parts = [part for part in self.parts.values() if split in part.features]
        builds = [part.collate(split) for part in parts]
        starts = np.cumsum([0, *(len(part.features[split]) for part in parts)])
        first_rows = np.cumsum([0, *(len(part.rows[split]) for part in parts)])

        def build(indices: "Array", draw: RandomKey) -> "Batch":
            which = int(np.searchsorted(starts, indices[0], side="right")) - 1
            batch = builds[which](indices - starts[which], draw)
            return {**batch, "row": batch["row"] + first_rows[which]} if "row" in batch else batch

        return build


def join(parts: "Mapping[str, PreparedTask]") -> JointPrepared:
    """Put the data of several tasks together; the number of a task is the group of its batches."""
    grouped = {
        name: replace(part, encoder=Grouped(part.encoder, number)) for number, (name, part) in enumerate(parts.items())
    }
    splits = dict.fromkeys(itertools.chain.from_iterable(part.rows for part in parts.values()))
    return JointPrepared(
        grouped,
        {split: _rows(parts, split) for split in splits},
        {split: _lengths(parts, split) for split in splits},
    )


def _rows(parts: "Mapping[str, PreparedTask]", split: str) -> Rows:
    there = {name: part.rows[split] for name, part in parts.items() if split in part.rows}
    return join_rows([Rows(pa.table({"task": [name] * len(rows)}), rows.places) for name, rows in there.items()])


def _lengths(parts: "Mapping[str, PreparedTask]", split: str) -> pa.Table:
    there = [part.features[split]["length"] for part in parts.values() if split in part.features]
    return pa.table({"length": pa.chunked_array([chunk for column in there for chunk in column.chunks])})
