"""Changes features in a prepared folder and vouches for them again, as a stranger would."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from burnish.storage import manifest

_ONLY_TOLD = ("dropped", "begins", "ends", "word")
"""Columns in which any large number is as good as another."""


def with_strange_numbers(features: pa.Table, *, among: Sequence[str]) -> Iterator[pa.Table]:
    """Put the largest number there is, and then one below 0, into the last place of each of some columns."""
    for name in among:
        if name in _ONLY_TOLD or (name == "tokens" and pa.types.is_integer(features[name].type)):
            continue
        at = features.column_names.index(name)
        column = features[name].combine_chunks()
        flat = np.array(column.values if pa.types.is_nested(column.type) else column)
        for number in _strange(flat.dtype) if len(flat) else ():
            flat[-1] = number
            yield features.set_column(at, features.schema.field(name), _like(column, pa.array(flat)))


def rewrite_shard(shard: Path, features: pa.Table) -> None:
    """Replace the features of a shard, and sign the folder again."""
    with pa.OSFile(str(shard), "wb") as sink, pa.ipc.new_file(sink, features.schema) as writer:
        writer.write_table(features)
    folder = shard.parents[1]
    facts = {name: value for name, value in (manifest.read(folder) or {}).items() if name not in ("files", "digest")}
    (folder / manifest.NAME).unlink()
    manifest.commit(folder, facts)


def _strange(kind: np.dtype) -> list[float]:
    if kind.kind == "f":
        return [np.nan, np.inf, -np.inf]
    if kind.kind == "b":
        return [True]
    return [np.iinfo(kind).max, *([-7] if kind.kind == "i" else [])]


def _like(column: pa.Array, flat: pa.Array) -> pa.Array:
    if pa.types.is_fixed_size_list(column.type):
        return pa.FixedSizeListArray.from_arrays(flat, column.type.list_size)
    return pa.ListArray.from_arrays(column.offsets, flat) if pa.types.is_list(column.type) else flat
