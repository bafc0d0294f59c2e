"""Reads a folder that `burnish prepare` wrote: believed only where manifest, bytes and experiment agree."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.cache.features import Stored, differences, open_stored
from burnish.data.options import NAMES
from burnish.data.rows import demand, from_file
from burnish.errors import DataError
from burnish.run.prepared import FEATURES, FORMAT, ROWS, shard_name
from burnish.spec.protocols import DataRequest, Encoder
from burnish.spec.values import MemoryMapped, Rows, Splits
from burnish.storage import manifest
from burnish.tasks.tabular.column_types import is_list

_IDS = ("a", "b", "c", "tokens")
"""Under what names features hold lists of token ids."""


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
    digests = {name: str(each["sha256"]) for name, each in content["files"].items()}
    return Splits(parts["train"], parts["validation"], parts.get("test"), facts, fingerprint, others, digests)


def refuse_misfit(written: str, encoder: Encoder) -> None:
    """Refuse features that another tokenizer, policy or set of labels shaped, and name what differs."""
    wanted = json.loads(json.dumps(dict(encoder.key), default=dict))
    found = [str(each) for each in differences(wanted, _content(Path(os.path.expanduser(written)))["encoder"])]
    if found:
        raise DataError(
            f"data.dir: {written} was prepared for another experiment; its features differ: "
            f"{'; '.join(found)}. Prepare the data again for this one, or set what differs as it was"
        )


def read_features(written: str, split: str, *, encoder: Encoder, rows: Rows, num_ids: int | None = None) -> Stored:
    """Map the features of a split; refuse those that cannot be of these rows, or of a vocabulary of `num_ids`."""
    folder = Path(os.path.expanduser(written))
    stored = _mapped(folder, FEATURES, split, content=_content(folder))
    place = f"data.dir: the features of {split} in {written}"
    # one row tells the columns; its content would not tell more, for a task may pack texts into blocks
    if not stored.table.schema.equals(encoder.encode(rows.table.slice(0, 1)).schema):
        raise DataError(f"{place} have other columns than this version of Burnish makes; prepare the data again")
    bounds = pc.min_max(stored.table["row"]).as_py()
    if bounds["min"] is None or bounds["min"] < 0 or bounds["max"] >= len(rows):
        raise DataError(f"{place} are of rows {bounds['min']} to {bounds['max']}, and there are {len(rows):,} rows")
    if num_ids is not None:
        _refuse_strange_ids(stored.table, num_ids, place=place)
    stored.release()
    return stored


def _refuse_strange_ids(features: pa.Table, num_ids: int, *, place: str) -> None:
    """Refuse ids that the model has no token for: it would fail at the first batch that holds one, or read astray."""
    for name in _IDS:
        if name not in features.column_names or not is_list(features.schema.field(name).type):
            continue
        bounds = [pc.min_max(chunk.flatten()).as_py() for chunk in features[name].chunks]
        low = min((each["min"] for each in bounds if each["min"] is not None), default=0)
        high = max((each["max"] for each in bounds if each["max"] is not None), default=0)
        if low < 0 or high >= num_ids:
            raise DataError(
                f"{place} hold the token ids {low:,} to {high:,}, and this model's are 0 to {num_ids - 1:,}; "
                f"prepare the data again"
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
    stored = _mapped(folder, ROWS, split, content=content)
    held = MemoryMapped(stored.digest, stored.release)
    return from_file(stored.table, name=f"{folder} [{split}]", first_line=0, held=held)


def _mapped(folder: Path, kind: str, split: str, *, content: Mapping[str, Any]) -> Stored:
    sizes = content["splits"][split]
    names = [shard_name(kind, split, number) for number in range(sizes[f"{kind}_shards"])]
    missing = [name for name in names if name not in content["files"]]
    if missing:
        raise DataError(f"data.dir: the manifest of {folder} does not list {missing[0]}")
    shards = [_shard(folder, name, digest=content["files"][name]["sha256"]) for name in names]
    try:
        table = pa.concat_tables([shard.table for shard in shards])
    except pa.ArrowInvalid as error:
        raise DataError(f"data.dir: the {kind} of {split} in {folder} do not fit together: {error}") from error
    if table.num_rows != sizes[kind]:
        raise DataError(
            f"data.dir: {folder} holds {table.num_rows:,} {kind} of {split}, and {sizes[kind]:,} are listed"
        )
    digest = hashlib.sha256("".join(shard.digest for shard in shards).encode()).hexdigest()

    def release() -> None:
        for shard in shards:
            shard.release()

    return Stored(digest, table, release)


def _shard(folder: Path, name: str, *, digest: str) -> Stored:
    try:
        stored = open_stored(folder / name, digest=digest)
        stored.table.validate(full=True)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(f"data.dir: {folder / name} is not a sound Arrow file: {error}") from error
    stored.release()
    return stored
