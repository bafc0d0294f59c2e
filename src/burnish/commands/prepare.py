"""`burnish prepare`: the features of an experiment in a folder, encoded once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from burnish.commands.config import check
from burnish.spec.parts import ALONE, divide_tasks, prefix

SHARD_SIZE = "256MB"


@dataclass(frozen=True)
class Written:
    """The folder, how many rows and features each split has there (each split of each task), and what it takes."""

    path: Path
    rows: Mapping[str, int]
    features: Mapping[str, int]
    num_files: int
    num_bytes: int
    override: str
    """What lets an experiment train from the folder."""


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
    from burnish.data.cache.sizes import parse_size
    from burnish.run.preparation.prepare import prepare as encode
    from burnish.run.preparation.tfrecords import records_writer
    from burnish.run.preparation.write_prepared import PreparedContent, refuse_taken, write_prepared

    asked = check(experiment, configs=configs, overrides=overrides).experiment
    refuse_taken(out)
    shard_bytes = max(1, parse_size(shard_size, option="--shard-size"))
    parts = encode(asked, tell=tell).parts
    records = partial(records_writer, shard_bytes=shard_bytes, progress=progress)
    contents = {
        name: PreparedContent(part, parts[name], records(part, parts[name]) if has_tfrecord else None)
        for name, part in divide_tasks(asked).items()
    }
    tell(f"writing {out}")
    write_prepared(out, contents, shard_bytes=shard_bytes)
    files = [path for path in out.rglob("*") if path.is_file()]
    return Written(
        out,
        {prefix(name, split): len(rows) for name, part in parts.items() for split, rows in part.rows.items()},
        {prefix(name, split): table.num_rows for name, part in parts.items() for split, table in part.features.items()},
        len(files),
        sum(path.stat().st_size for path in files),
        _source(out, parts),
    )


def _source(out: Path, tasks: Iterable[str]) -> str:
    written = {name: f"{{type: prepared, dir: {out / name}}}" for name in tasks}
    if ALONE in written:
        return f"data={written[ALONE]}"
    return f"data={{type: several, sets: {{{', '.join(f'{name}: {source}' for name, source in written.items())}}}}}"
