"""Questions with their choices as features and batches."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.batching.padding import pad
from burnish.data.batching.ragged import Ragged, gather, pack, pick, view
from burnish.data.tokens.text import TextCodec, id_limits, padding_of
from burnish.errors import DataError
from burnish.spec.protocols import Encoder
from burnish.spec.values import Array, Batch, FeatureLimit, Profile, RandomKey, RowFault, Rows
from burnish.tasks.labels import as_text
from burnish.tasks.multiple_choice.rows import ChoiceColumns, ChoiceLabels
from burnish.tasks.token_classification.rows import TagItems

VERSION = 1
"""Goes up whenever the same rows would give other features."""
CONTEXT, CHOICE = "context", "choice"
_SIDES = ("a", "b")


@dataclass(frozen=True)
class ChoiceEncoder(Encoder):
    """Encode every choice beside its context; a row is one feature of as many sequences as it has choices."""

    codec: TextCodec
    """Reads the columns CONTEXT and CHOICE, a row a choice."""
    profile: Profile
    columns: ChoiceColumns

    @property
    def key(self) -> Mapping[str, object]:
        names = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self.columns).items()}
        return {**self.codec.key, "choices": names, "labels": dict(self.profile.facts), "choice_version": VERSION}

    def faults(self, rows: Rows) -> list[RowFault]:
        faults = [*self.columns.faults(rows.table)]
        if self.columns.label not in rows.table.column_names:
            return faults
        options = self.columns.options(rows.table)
        labels = self._labels(rows.table, options).faults()
        return [*faults, *(fault for fault in labels if options.lengths[fault.row] > 1)]

    def encode(self, table: pa.Table) -> pa.Table:
        options = self.columns.options(table)
        if not options.lengths.all():
            row = int(np.argmin(options.lengths)) + 1
            raise DataError(f"row {row} has nothing to choose from in {', '.join(self.columns.choices)}")
        contexts = self.columns.contexts(table).take(pa.array(options.row_of))
        sequences = self.codec.encode(pa.table({CONTEXT: contexts, CHOICE: self.columns.asked(table, options)}))
        columns = {side: _grouped(sequences[side], options.lengths) for side in _SIDES}
        columns |= {f"{side}_sizes": _sizes(sequences[side], options.lengths) for side in _SIDES}
        columns |= self._numbers(sequences, options.lengths)
        if self.columns.label in table.column_names:
            columns["label"] = pa.array(self._labels(table, options).numbers)
        return pa.table(columns)

    def collate(self, features: pa.Table, indices: "Array", draw: RandomKey) -> "Batch":
        indices = np.asarray(indices, dtype=np.int64)
        sides = [
            pack(gather(features[side], indices).values, gather(features[f"{side}_sizes"], indices).values)
            for side in _SIDES
        ]
        flat = pad(sides, self.codec.template, padding_of(self.codec.assets))
        counts = pick(features["num_choices"], indices)
        width = int(pc.max(features["num_choices"]).as_py())
        is_there = np.arange(width) < counts[:, None]
        # What is no choice repeats the last one: the network answers it, and nobody asks.
        number = np.minimum(np.arange(width), counts[:, None] - 1) + (np.cumsum(counts) - counts)[:, None]
        batch: dict[str, Array] = {name: values[number] for name, values in flat.items()}
        batch["choices"] = is_there
        for name in ("row", "label"):
            if name in features.column_names:
                batch[name] = pick(features[name], indices)
        return batch

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterator[FeatureLimit]:
        counts = features["num_choices"].to_numpy()
        yield FeatureLimit("num_choices", counts, 1, np.inf)
        sizes = []
        for side in _SIDES:
            tokens, each = view(features[side].chunk(0)), view(features[f"{side}_sizes"].chunk(0)).packed()
            yield from id_limits([(side, tokens)], self.codec.assets)
            yield FeatureLimit(f"number of entries in {side}_sizes", each.lengths, counts, counts)
            total = np.add.reduceat(each.values, each.starts)
            yield FeatureLimit(f"{side}_sizes", each.values, 0, self.codec.max_length)
            yield FeatureLimit(f"number of tokens in {side}", tokens.lengths, total, total)
            sizes.append(each.values)
        both = np.add(*sizes) + self.codec.template.num_special
        yield FeatureLimit("number of tokens in a choice", both, 0, self.codec.max_length)
        length = np.maximum.reduceat(both, np.cumsum(counts) - counts) * counts
        yield FeatureLimit("length", features["length"].to_numpy(), length, length)
        if "label" in features.column_names:
            yield FeatureLimit("label", features["label"].to_numpy(), 0, counts - 1)

    def _labels(self, table: pa.Table, options: TagItems) -> ChoiceLabels:
        facts = self.profile.facts
        return ChoiceLabels(as_text(table, self.columns.label), options, facts["label_form"], facts["first"])

    def _numbers(self, sequences: pa.Table, counts: "Array") -> dict[str, pa.Array]:
        starts = np.cumsum(counts) - counts
        longest, tokens, dropped = (
            np.maximum.reduceat(sequences[name].to_numpy(), starts) for name in ("length", "tokens", "dropped")
        )
        return {
            "num_choices": pa.array(counts, pa.int32()),
            "row": pa.array(np.arange(len(counts)), pa.int64()),
            "length": pa.array(longest * counts, pa.int32()),
            "tokens": pa.array(tokens, pa.int32()),
            "dropped": pa.array(dropped, pa.int32()),
        }


def _grouped(column: pa.ChunkedArray, counts: "Array") -> pa.ListArray:
    """Join the lists of each row's choices."""
    lists = column.combine_chunks()
    sizes = np.append(0, np.cumsum(pc.list_value_length(lists).to_numpy(zero_copy_only=False)))
    ends = np.append(0, np.cumsum(counts))
    return pa.ListArray.from_arrays(pa.array(sizes[ends], pa.int32()), lists.flatten())


def _sizes(column: pa.ChunkedArray, counts: "Array") -> pa.ListArray:
    sizes = pc.list_value_length(column.combine_chunks()).to_numpy(zero_copy_only=False)
    return Ragged(sizes.astype(np.int32), np.cumsum(counts) - counts, counts).to_arrow()
