"""Questions with their choices as features and batches."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.batching.padding import pad
from burnish.data.batching.ragged import Ragged, gather, pack, pick, view
from burnish.data.tokens.text import choose_padding, id_limits
from burnish.errors import DataError
from burnish.spec.values import Array, FeatureLimit, Profile, RandomKey, RowFault, Rows
from burnish.tasks.labels import as_text
from burnish.tasks.multiple_choice.rows import ChoiceColumns, ChoiceLabels
from burnish.tasks.sequences import SequenceEncoder
from burnish.tasks.token_classification.rows import TagItems

VERSION = 1
"""Goes up whenever the same rows would give other features."""
CONTEXT, CHOICE = "context", "choice"
_SIDES = ("a", "b")


@dataclass(frozen=True)
class ChoiceEncoder(SequenceEncoder):
    """Encodes every choice with its context; a row is one feature of as many sequences as it has choices.

    The codec reads the columns CONTEXT and CHOICE, a row a choice.
    """

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
        labels = self._read_labels(rows.table, options).faults()
        return [*faults, *(fault for fault in labels if options.lengths[fault.row] > 1)]

    def sequences(self, table: pa.Table) -> pa.Table:
        options = self.columns.options(table)
        if not options.lengths.all():
            row = int(np.argmin(options.lengths)) + 1
            raise DataError(f"row {row} has nothing to choose from in {', '.join(self.columns.choices)}")
        contexts = self.columns.contexts(table).take(pa.array(options.row_of))
        found = self.codec.encode(pa.table({CONTEXT: contexts, CHOICE: self.columns.asked(table, options)}))
        counts, starts = options.lengths, np.cumsum(options.lengths) - options.lengths
        sides = {side: view(found[side].combine_chunks()).packed() for side in _SIDES}
        longest, tokens, dropped = (
            np.maximum.reduceat(found[name].to_numpy(), starts) for name in ("length", "tokens", "dropped")
        )
        return pa.table(
            {
                **{
                    side: pack(text.values, np.add.reduceat(text.lengths, starts)).to_arrow()
                    for side, text in sides.items()
                },
                **{
                    f"{side}_sizes": Ragged(text.lengths.astype(np.int32), starts, counts).to_arrow()
                    for side, text in sides.items()
                },
                "num_choices": pa.array(counts, pa.int32()),
                "row": pa.array(np.arange(len(counts)), pa.int64()),
                "length": pa.array(longest * counts, pa.int32()),
                "tokens": pa.array(tokens, pa.int32()),
                "dropped": pa.array(dropped, pa.int32()),
            }
        )

    def labels(self, table: pa.Table, features: pa.Table) -> pa.Array | None:
        if self.columns.label not in table.column_names:
            return None
        return pa.array(self._read_labels(table, self.columns.options(table)).numbers)

    def pad(self, features: pa.Table, indices: "Array", draw: RandomKey) -> "dict[str, Array]":
        sides = [
            pack(gather(features[side], indices).values, gather(features[f"{side}_sizes"], indices).values)
            for side in _SIDES
        ]
        flat = pad(sides, self.codec.template, choose_padding(self.codec.assets))
        counts = pick(features["num_choices"], indices)
        width = int(pc.max(features["num_choices"]).as_py())
        # What is no choice repeats the last one: the network answers it, and nobody asks.
        number = np.minimum(np.arange(width), counts[:, None] - 1) + (np.cumsum(counts) - counts)[:, None]
        is_there = np.arange(width) < counts[:, None]
        return {"choices": is_there, **{name: values[number] for name, values in flat.items()}}

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

    def _read_labels(self, table: pa.Table, options: TagItems) -> ChoiceLabels:
        facts = self.profile.facts
        return ChoiceLabels(as_text(table, self.columns.label), options, facts["label_form"], facts["first"])
