"""Compares two runs bit by bit, and names what differs first."""

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from burnish.run.preparation.inputs import changed_files
from burnish.run.record.directory import RunDirectory, read_json
from burnish.run.record.events_file import EventsFile
from burnish.spec.events import Started

_EVENTS = "events.jsonl"
_COMPARED = ("stepped", "evaluated")
_CLOCK = ("minutes", "seconds", "fit_seconds", "predict_seconds", "time", "attempt")
"""What no two runs share, however alike they are."""
_DATA = "data.json"
_ASKED = ("MANIFEST.json", "plan.yaml", _DATA)
"""Files of a checkpoint that say what was asked, and not what came of it."""


@dataclass(frozen=True)
class FileDifference:
    """One file in which two runs differ, and where first."""

    file: str
    first: str

    def __str__(self) -> str:
        return f"{self.file}: {self.first}"


def find_differences(left: RunDirectory, right: RunDirectory) -> list[FileDifference]:
    """Compare newest checkpoint, predictions, scores and events; an empty list means the same bits throughout."""
    ours, theirs = list_files(left), list_files(right)
    found = {name: _compare(name, ours.get(name), theirs.get(name)) for name in ours | theirs}
    return [FileDifference(name, first) for name, first in found.items() if first is not None]


def compare_environments(left: RunDirectory, right: RunDirectory) -> list[str]:
    """Name what differs between the machines and libraries that two runs were made with."""
    ours, theirs = _read_environment(left), _read_environment(right)
    return [
        f"{name} was {ours.get(name, 'unknown')} and is {theirs.get(name, 'unknown')}"
        for name in ours | theirs
        if ours.get(name) != theirs.get(name)
    ]


def list_files(run: RunDirectory) -> dict[str, Path]:
    """Name the files that two like runs share."""
    checkpoints = sorted(path for path in run.checkpoints.glob("step-*") if path.is_dir())
    kept = sorted(path for path in checkpoints[-1].iterdir() if path.name not in _ASKED) if checkpoints else []
    files = {_DATA: run.data} if run.data.exists() else {}
    files |= {f"{path.parent.name}/{path.name}": path for path in kept}
    files |= {path.relative_to(run.path).as_posix(): path for path in sorted(run.predictions.rglob("*.parquet"))}
    others = {"scores.json": run.scores, _EVENTS: run.events}
    return files | {name: path for name, path in others.items() if path.exists()}


def cut(path: Path) -> Iterator[tuple[str, bytes]]:
    """Cut a file into named parts that can be compared: tensors, columns, leaves or lines."""
    if path.suffix == ".safetensors":
        yield from _cut_tensors(path)
    elif path.suffix == ".parquet":
        import pyarrow.parquet as pq

        for name, column in pq.read_table(path).to_pydict().items():
            yield from ((f"{name} of row {row}", repr(value).encode()) for row, value in enumerate(column))
    elif path.name == _EVENTS:
        for values in map(json.loads, path.read_text().splitlines()):
            if (event := values.pop("event")) in _COMPARED:
                yield from _cut_values(values, f"{event} {values['step']}: ")
    else:
        yield from _cut_values(read_json(path))


def _read_environment(run: RunDirectory) -> dict[str, str]:
    started = EventsFile(run.events).last(Started)
    facts = started.event.facts if started is not None and isinstance(started.event, Started) else {}
    found = facts.get("environment")
    return dict(found) if isinstance(found, Mapping) else {}


def _compare(name: str, left: Path | None, right: Path | None) -> str | None:
    if left is None or right is None:
        return f"only the {'second' if left is None else 'first'} run has it"
    for ours, theirs in zip_longest(cut(left), cut(right)):
        if ours == theirs:
            continue
        if name == _DATA:
            changed = changed_files(
                *(found if isinstance(found := read_json(each), dict) else {} for each in (left, right))
            )
            return f"{'; '.join(changed)}: the second run was trained on other data"
        if ours is None or theirs is None:
            return f"{(ours or theirs)[0]} is only in the {'first' if theirs is None else 'second'} run"
        if ours[0] != theirs[0]:
            return f"the first run has {ours[0]} where the second has {theirs[0]}"
        is_binary = name.endswith((".safetensors", ".bin"))
        return f"{ours[0]} differs" if is_binary else f"{ours[0]} is {ours[1].decode()} and {theirs[1].decode()}"
    return None


def _cut_tensors(path: Path) -> Iterator[tuple[str, bytes]]:
    # Read by its plain layout, so that tensors of any type are compared as the bytes they are.
    with path.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        header: dict[str, Any] = json.loads(stream.read(length))
        for name, facts in sorted(header.items()):
            if name != "__metadata__":
                begin, end = facts["data_offsets"]
                stream.seek(8 + length + begin)
                yield f"tensor {name} ({facts['dtype']} {facts['shape']})", stream.read(end - begin)


def _cut_values(value: object, before: str = "", path: str = "") -> Iterator[tuple[str, bytes]]:
    if isinstance(value, Mapping):
        for name in sorted(set(value) - {*_CLOCK}):
            yield from _cut_values(value[name], before, f"{path}.{name}".lstrip("."))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _cut_values(each, before, f"{path}[{number}]")
    else:
        yield f"{before}{path}", json.dumps(value).encode()
