"""Reads a folder that `burnish prepare` wrote: believed only where manifest, bytes and experiment agree."""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.data.cache.features import Stored, differences, open_stored
from burnish.data.options import NAMES
from burnish.data.rows import demand, from_file
from burnish.errors import DataError
from burnish.run.prepared import FEATURES, FORMAT, ROWS, shard_name
from burnish.spec.protocols import DataRequest, Encoder
from burnish.spec.values import FeatureLimit, MemoryMapped, Rows, Splits
from burnish.storage import manifest

_ROWS_AT_ONCE = 1 << 16


def load_prepared(written: str, request: DataRequest) -> Splits:
    """Give the rows of each split, mapped; refuse a folder that was changed or lacks a column of the task."""
    folder = Path(os.path.expanduser(written))
    wrong = manifest.fault(folder)
    if wrong is not None:
        raise DataError(f"data.dir: {written} is not a complete folder of prepared data: {wrong}")
    content = _content(folder)
    parts = {name: _rows(folder, name, content) for name in content["splits"]}
    for rows in parts.values():
        demand(rows, request.columns, why="task", has_options=False)
    facts = {"rows": {name: len(rows) for name, rows in parts.items()}, "validation": f"as prepared in {written}"}
    others = {name: rows for name, rows in parts.items() if name not in NAMES}
    fingerprint = hashlib.sha256(json.dumps(content["files"], sort_keys=True).encode()).hexdigest()
    digests = listed_digests(written)
    return Splits(parts["train"], parts["validation"], parts.get("test"), facts, fingerprint, others, digests)


def listed_digests(written: str) -> dict[str, str]:
    """Give the digest of each file that the manifest of a folder lists."""
    files = _content(Path(os.path.expanduser(written))).get("files")
    found = files.items() if isinstance(files, dict) else ()
    return {name: str(each["sha256"]) for name, each in found if isinstance(each, dict) and "sha256" in each}


def refuse_misfit(written: str, encoder: Encoder) -> None:
    """Refuse features that another tokenizer, policy or set of labels shaped, and name what differs."""
    wanted = json.loads(json.dumps(dict(encoder.key), default=dict))
    found = [str(each) for each in differences(wanted, _content(Path(os.path.expanduser(written)))["encoder"])]
    if found:
        raise DataError(
            f"data.dir: {written} was prepared for another experiment; its features differ: "
            f"{'; '.join(found)}. Prepare the data again for this one, or set what differs as it was"
        )


def read_features(written: str, split: str, *, encoder: Encoder, rows: Rows) -> Stored:
    """Map the features of a split; refuse those that cannot be of these rows, or that no encoder like this made."""
    folder = Path(os.path.expanduser(written))
    shards = _shards(folder, FEATURES, split, content=_content(folder))
    # one row tells the columns; its content would not tell more, for a task may pack texts into blocks
    wanted = encoder.encode(rows.table.slice(0, 1)).schema
    for name, shard in shards.items():
        if not shard.table.schema.equals(wanted):
            raise DataError(
                f"data.dir: {folder / name} has other columns than this version of Burnish makes; "
                "prepare the data again"
            )
        for batch in shard.table.to_batches(max_chunksize=_ROWS_AT_ONCE):
            part = pa.Table.from_batches([batch])
            for limit in _limits(part, encoder, num_rows=len(rows)):
                _refuse_beyond(limit, file=folder / name)
            shard.release()
    return _joined(shards)


def _limits(features: pa.Table, encoder: Encoder, *, num_rows: int) -> Iterator[FeatureLimit]:
    for name in features.column_names:
        column = features[name]
        items = column.chunk(0).flatten().null_count if pa.types.is_nested(column.type) else 0
        yield FeatureLimit(f"number of empty cells in {name}", np.array([column.null_count + items]), 0, 0)
    yield FeatureLimit("row", features["row"].to_numpy(), 0, num_rows - 1)
    yield from encoder.limits(features, num_rows=num_rows)


def _refuse_beyond(limit: FeatureLimit, *, file: Path) -> None:
    is_right = (limit.values >= limit.low) & (limit.values <= limit.high)  # nan is on neither side
    if is_right.all():
        return
    at = tuple(np.argwhere(~is_right)[0])
    low, high = (np.broadcast_to(each, limit.values.shape)[at] for each in (limit.low, limit.high))
    raise DataError(
        f"data.dir: {file}: `{limit.column}` holds {limit.values[at]:,}, and this experiment has {low:,} to {high:,} "
        "there; prepare the data again"
    )


def _content(folder: Path) -> dict[str, Any]:
    content = manifest.read(folder) or {}
    splits = content.get("splits")
    is_known = content.get("format") == FORMAT and isinstance(splits, dict) and isinstance(content.get("encoder"), dict)
    if not is_known or not isinstance(splits, dict) or not {"train", "validation"} <= splits.keys():
        raise DataError(f"data.dir: {folder} has no manifest of prepared data that this version of Burnish can read")
    odd = [name for name, sizes in splits.items() if not name.isidentifier() or not _are_sizes(sizes)]
    if odd:
        raise DataError(f"data.dir: the manifest of {folder} describes a split {odd[0]!r} that cannot be")
    return content


def _are_sizes(sizes: object) -> bool:
    wanted = {f"{kind}_shards" for kind in (ROWS, FEATURES)} | {ROWS, FEATURES}
    return isinstance(sizes, dict) and all(isinstance(sizes.get(name), int) and sizes[name] > 0 for name in wanted)


def _rows(folder: Path, split: str, content: Mapping[str, Any]) -> Rows:
    stored = _joined(_shards(folder, ROWS, split, content=content))
    held = MemoryMapped(stored.digest, stored.release)
    return from_file(stored.table, name=f"{folder} [{split}]", first_line=0, held=held)


def _shards(folder: Path, kind: str, split: str, *, content: Mapping[str, Any]) -> dict[str, Stored]:
    sizes = content["splits"][split]
    names = [shard_name(kind, split, number) for number in range(sizes[f"{kind}_shards"])]
    missing = [name for name in names if name not in content["files"]]
    if missing:
        raise DataError(f"data.dir: the manifest of {folder} does not list {missing[0]}")
    shards = {name: _shard(folder, name, digest=content["files"][name]["sha256"]) for name in names}
    first = shards[names[0]].table.schema
    odd = [name for name, shard in shards.items() if not shard.table.schema.equals(first)]
    if odd:
        raise DataError(f"data.dir: {folder / odd[0]} has other columns than {names[0]}, which it should continue")
    found = sum(shard.table.num_rows for shard in shards.values())
    if found != sizes[kind]:
        raise DataError(f"data.dir: {folder} holds {found:,} {kind} of {split}, and {sizes[kind]:,} are listed")
    return shards


def _joined(shards: Mapping[str, Stored]) -> Stored:
    digest = hashlib.sha256("".join(shard.digest for shard in shards.values()).encode()).hexdigest()

    def release() -> None:
        for shard in shards.values():
            shard.release()

    return Stored(digest, pa.concat_tables([shard.table for shard in shards.values()]), release)


def _shard(folder: Path, name: str, *, digest: str) -> Stored:
    try:
        stored = open_stored(folder / name, digest=digest)
        stored.table.validate(full=True)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(f"data.dir: {folder / name} is not a sound Arrow file: {error}") from error
    stored.release()
    return stored
