"""`burnish prepare`: the features of an experiment in a folder, encoded once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.commands.config import check
from burnish.spec.parts import ALONE, only_part

SHARD_SIZE = "256MB"


@dataclass(frozen=True)
class Written:
    """The folder, how many rows and features each split has there, and what it takes."""

    path: Path
    rows: Mapping[str, int]
    features: Mapping[str, int]
    num_files: int
    num_bytes: int


def prepare(
    experiment: str,
    *,
    out: Path,
    configs: Sequence[Path] = (),
    overrides: Sequence[str] = (),
    shard_size: str = SHARD_SIZE,
    has_tfrecord: bool = False,
    tell: Callable[[str], None] = lambda note: None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Written:
    """Read, check and encode every split, and write all that training needs; nothing is overwritten."""
    from burnish.data.sizes import parse_size
    from burnish.run.directory import RunDirectory
    from burnish.run.prepare import prepare as encode
    from burnish.run.tfrecords import records_writer
    from burnish.run.write_prepared import refuse_taken, write_prepared

    asked = check(experiment, configs=[str(path) for path in configs], overrides=overrides).experiment
    asked = only_part(asked, why="a folder of prepared data holds the features of one")
    refuse_taken(out)
    shard_bytes = max(1, parse_size(shard_size, option="--shard-size"))
    prepared = encode(asked, RunDirectory(out), tell=tell, is_recorded=False).parts[ALONE]
    records = records_writer(asked, prepared, shard_bytes=shard_bytes, progress=progress) if has_tfrecord else None
    tell(f"writing {out}")
    write_prepared(out, asked, prepared, shard_bytes=shard_bytes, write_records=records)
    files = [path for path in out.rglob("*") if path.is_file()]
    return Written(
        out,
        {name: len(rows) for name, rows in prepared.rows.items()},
        {name: table.num_rows for name, table in prepared.features.items()},
        len(files),
        sum(path.stat().st_size for path in files),
    )
