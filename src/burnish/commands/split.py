"""`burnish prepare split`: train, validation and test files from one or more, rows as they are there."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.durable import replace_durably, writing_to
from burnish.errors import DataError
from burnish.spec.values import Rows

if TYPE_CHECKING:
    from burnish.data.files import Layout
    from burnish.data.options import Portion
    from burnish.data.sources.address import DataFile
    from burnish.data.splits.divide import Division

_LINES = ("csv", "tsv", "jsonl")
_TABLES = {"parquet": ".parquet", "arrow": ".arrow"}
_Write = Callable[["Rows", Path], None]


@dataclass(frozen=True)
class Divided:
    """The files that were written, and how many rows of each class went into each."""

    files: Mapping[str, Path]
    label: str | None
    """The column whose classes every file holds in proportion; None when the rows were drawn without looking."""
    how: str
    counts: Mapping[str, Mapping[str, int]]
    """Class → file → rows; one entry, `rows`, when there are no classes."""


def split(
    *sources: str,
    out: Path,
    validation: str = "10%",
    test: str | None = None,
    layout: "Layout | None" = None,
    label: str | None = None,
    group: Sequence[str] = (),
    seed: int = 0,
) -> Divided:
    """Write parts of the rows of files, a share or a number of them each; nothing that exists is overwritten."""
    from burnish.data.options import SplitPlan
    from burnish.data.sources.address import find
    from burnish.data.splits.divide import divide

    plan = SplitPlan(
        validation=_parse("--validation", validation),
        test=None if test is None else _parse("--test", test),
        group=tuple(group),
    )
    files = [file for source in sources for file in find(source, option="the file to split")]
    kind = _find_format(files[0], layout)
    names = ["train", "validation", *(["test"] if test is not None else [])]
    targets = _choose_places(out, _choose_suffix(files[0], kind), names=names)
    division = divide(files, plan, layout=layout, label=label, seed=seed)
    write = _copy_lines(division) if kind in _LINES else _copy_rows(division, kind)
    for name, path in targets.items():
        with writing_to(path):
            replace_durably(path, partial(write, division.arranged.parts[name]))
    how = division.arranged.note.replace("of train", "of the file" if len(files) == 1 else "of the files", 1)
    return Divided(targets, division.label, how, _count(division))


def _parse(option: str, written: str) -> "Portion":
    from burnish.data.options import Portion

    try:
        return Portion.parse(written)
    except ValueError as error:
        raise DataError(f"{option}: {error}, got {written!r}") from None


def _find_format(file: "DataFile", layout: "Layout | None") -> str:
    from burnish.data.files import Files
    from burnish.data.readers.read import find_format

    kind = find_format(file, Files(train=(file.location,), layout=layout))
    if kind not in (*_LINES, *_TABLES):
        raise DataError(f"{file.name} is {kind}; only CSV, TSV, JSON lines, Parquet and Arrow files can be split")
    return kind


def _choose_suffix(file: "DataFile", kind: str) -> str:
    """Choose what the new files end in: as the old one, but for a table, which is compressed inside."""
    if kind in _TABLES:
        return _TABLES[kind]
    return file.suffix + {None: "", "gzip": ".gz", "zstd": ".zst"}[file.compression]


def _choose_places(out: Path, ending: str, *, names: Sequence[str]) -> dict[str, Path]:
    targets = {name: out / f"{name}{ending}" for name in names}
    there = [str(path) for path in targets.values() if path.exists() or path.is_symlink()]
    if there:
        raise DataError(f"{', '.join(there)} would be overwritten; name another folder with --out, or remove them")
    return targets


def _copy_lines(division: "Division") -> _Write:
    """Write rows byte by byte as they stand, below the first header; those of several bytes a character as UTF-8."""
    import pyarrow as pa

    from burnish.data.readers.encoding import as_utf8
    from burnish.data.readers.open_file import hold_local, open_unpacked
    from burnish.data.splits.divide import head_and_rows

    stated = division.encoding if len("\n".encode(division.encoding)) > 1 else "utf-8"

    def write(part: "Rows", path: Path) -> None:
        last = b"\n"
        with pa.output_stream(str(path), compression=division.files[0].compression) as stream:
            for number, file in enumerate(division.files):
                every, chosen = (
                    places.take(places.file_of == number) for places in (division.rows.places, part.places)
                )
                with hold_local(file) as at:
                    buffer = as_utf8(open_unpacked(at, file=file), stated=stated, name=file.name)
                    for piece in islice(head_and_rows(buffer, every, chosen), min(number, 1), None):
                        # The last line of a file may have no end.
                        stream.write(piece if last == b"\n" or not piece else b"\n" + bytes(piece))
                        last = bytes(piece[-1:]) or last

    return write


def _copy_rows(division: "Division", kind: str) -> _Write:
    """Write rows with the types and the metadata of their files, which reading for training would drop."""
    import pyarrow as pa

    from burnish.artifact.tables import write_table
    from burnish.data.readers.open_file import hold_local, open_unpacked
    from burnish.data.readers.read_columnar import arrow_table, parquet_table

    def write(part: "Rows", path: Path) -> None:
        tables = []
        for number, file in enumerate(division.files):
            with hold_local(file) as at:
                table = (parquet_table if kind == "parquet" else arrow_table)(open_unpacked(at, file=file))
                tables.append(table.take(pa.array(part.places.numbers[part.places.file_of == number])))
            if not table.schema.equals(tables[0].schema):
                raise DataError(f"{file.name} has other types than {division.files[0].name}; split them one by one")
        write_table(pa.concat_tables(tables), path, suffix=_TABLES[kind])

    return write


def _count(division: "Division") -> dict[str, dict[str, int]]:
    parts = division.arranged.parts
    if division.label is None:
        return {"rows": {name: len(part) for name, part in parts.items()}}
    found = {name: _count_classes(part, division.label) for name, part in parts.items()}
    classes = sorted({each for counted in found.values() for each in counted})
    return {each: {name: counted.get(each, 0) for name, counted in found.items()} for each in classes}


def _count_classes(rows: "Rows", label: str) -> dict[str, int]:
    import numpy as np

    from burnish.data.rows import number_values

    numbers, values = number_values(rows.table.column(label))
    return {str(value): int(count) for value, count in zip(values, np.bincount(numbers), strict=True)}
