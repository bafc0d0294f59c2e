"""Writes rows and encoded features of every split into a folder that can be trained from, manifest last."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from burnish import __version__
from burnish.config import render, trust
from burnish.durable import stage_folder
from burnish.errors import DataError
from burnish.run.preparation.prepared_data import PreparedTask
from burnish.run.prepared import EXPERIMENT, FEATURES, FORMAT, ROWS, shard_name
from burnish.spec.experiment import Experiment
from burnish.storage import manifest

_RECORDS = "tfrecord"
WriteRecords = Callable[[Path, str], int]
"""Writes TFRecord files of a split into a folder, and tells how many."""


@dataclass(frozen=True)
class PreparedContent:
    """What goes into one folder of prepared data."""

    experiment: Experiment
    prepared: PreparedTask
    write_records: WriteRecords | None = None


def write_prepared(path: Path, contents: Mapping[str, PreparedContent], *, shard_bytes: int) -> None:
    """Build the folder under another name and put it in place whole; of several tasks, it holds a folder for each."""
    try:
        with stage_folder(path) as building:
            for name, content in contents.items():
                with _refusing_for(name):
                    _write_folder(building / name, content, shard_bytes=shard_bytes)
    except OSError as error:
        raise DataError(f"{path} could not be written: {error.strerror or error}") from error


@contextmanager
def _refusing_for(name: str) -> Iterator[None]:
    """Say of which of several tasks something is refused."""
    try:
        yield
    except DataError as error:
        if not name:
            raise
        raise DataError(f"task {name}: {error}") from error


def refuse_taken(path: Path) -> None:
    """Refuse a place where there is anything already, before any work is done for it."""
    if path.is_symlink() or path.is_file() or (path.is_dir() and any(path.iterdir())):
        raise DataError(f"{path} already exists and is not overwritten; name another folder with --out")


def shards(table: pa.Table, max_bytes: int) -> Iterator[pa.Table]:
    """Halve a table until no part is larger; a single row may be."""
    if table.num_rows <= 1 or table.nbytes <= max_bytes:
        yield table
        return
    middle = table.num_rows // 2
    yield from shards(table.slice(0, middle), max_bytes)
    yield from shards(table.slice(middle), max_bytes)


def _write_folder(folder: Path, content: PreparedContent, *, shard_bytes: int) -> None:
    prepared = content.prepared
    for kind in (ROWS, FEATURES):
        (folder / kind).mkdir(parents=True)
    (folder / EXPERIMENT).write_text(render(content.experiment), encoding="utf-8")
    splits = {name: _write_split(folder, prepared, name, shard_bytes=shard_bytes) for name in prepared.rows}
    if content.write_records is not None:
        (folder / _RECORDS).mkdir()
        for name in prepared.rows:
            splits[name][f"{_RECORDS}_shards"] = content.write_records(folder / _RECORDS, name)
    manifest.commit(folder, _facts(prepared) | {"splits": splits})
    trust(folder / EXPERIMENT)


def _write_split(folder: Path, prepared: PreparedTask, split: str, *, shard_bytes: int) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for kind, table in ((ROWS, prepared.rows[split].table), (FEATURES, prepared.features[split])):
        sizes[kind] = table.num_rows
        for number, part in enumerate(shards(table, shard_bytes)):
            _write_shard(folder / shard_name(kind, split, number), part)
            sizes[f"{kind}_shards"] = number + 1
    return sizes


def _write_shard(path: Path, table: pa.Table) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def _facts(prepared: PreparedTask) -> dict[str, object]:
    return {
        "format": FORMAT,
        "burnish": __version__,
        "encoder": dict(prepared.encoder.key),
        "profile": asdict(prepared.profile),
    }
