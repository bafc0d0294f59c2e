"""Tells whether two runs came to the same bits, and if not, what differs first."""

import hashlib
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
_TOLD = ("stepped", "evaluated")
_CLOCK = ("minutes", "seconds", "fit_seconds", "predict_seconds", "time", "attempt")
"""What no two runs share, however alike they are."""
_ABSENT = "nothing"
_DATA = "data.json"
_ASKED = ("MANIFEST.json", "plan.yaml", _DATA)
"""Files of a checkpoint that tell what was asked, and not what came of it."""


@dataclass(frozen=True)
class FileDifference:
    """One file in which two runs differ, and where first."""

    file: str
    first: str

    def __str__(self) -> str:
        return f"{self.file}: {self.first}"


def differences(left: RunDirectory, right: RunDirectory) -> list[FileDifference]:
    """Compare newest checkpoint, predictions, scores and events; an empty list means the same bits throughout."""
    ours, theirs = _files(left), _files(right)
    names = [*ours, *(name for name in theirs if name not in ours)]
    return [
        FileDifference(name, _first(name, ours.get(name), theirs.get(name)))
        for name in names
        if _digest_of(ours.get(name)) != _digest_of(theirs.get(name))
    ]


def digests(run: RunDirectory) -> dict[str, str]:
    """Give the SHA-256 of everything that two like runs share, by file."""
    return {name: _digest_of(path) for name, path in _files(run).items()}


def environment_differences(left: RunDirectory, right: RunDirectory) -> list[str]:
    """Name what differs between the machines and libraries that two runs were made with."""
    ours, theirs = _environment(left), _environment(right)
    names = [*ours, *(name for name in theirs if name not in ours)]
    return [
        f"{name} was {ours.get(name, 'unknown')} and is {theirs.get(name, 'unknown')}"
        for name in names
        if ours.get(name) != theirs.get(name)
    ]


def _files(run: RunDirectory) -> dict[str, Path]:
    checkpoints = sorted(path for path in run.checkpoints.glob("step-*") if path.is_dir())
    kept = sorted(path for path in checkpoints[-1].iterdir() if path.name not in _ASKED) if checkpoints else []
    files = {_DATA: run.data} if run.data.exists() else {}
    files |= {f"{path.parent.name}/{path.name}": path for path in kept}
    files |= {path.relative_to(run.path).as_posix(): path for path in sorted(run.predictions.rglob("*.parquet"))}
    others = {"scores.json": run.scores, _EVENTS: run.events}
    return files | {name: path for name, path in others.items() if path.exists()}


def _environment(run: RunDirectory) -> Mapping[str, str]:
    started = EventsFile(run.events).last(Started)
    facts = started.event.facts if started is not None and isinstance(started.event, Started) else {}
    told = facts.get("environment")
    return told if isinstance(told, Mapping) else {}


def _digest_of(path: Path | None) -> str:
    if path is None:
        return _ABSENT
    digest = hashlib.sha256()
    for name, value in _parts(path):
        digest.update(f"{name}\n".encode())
        digest.update(value)
    return digest.hexdigest()


def _first(name: str, left: Path | None, right: Path | None) -> str:
    if left is None or right is None:
        return f"only the {'second' if left is None else 'first'} run has it"
    if name == _DATA:
        return f"{'; '.join(changed_files(_mapping(left), _mapping(right)))}: the second run was trained on other data"
    for ours, theirs in zip_longest(_parts(left), _parts(right)):
        if ours is None or theirs is None:
            return f"{(ours or theirs)[0]} is only in the {'first' if theirs is None else 'second'} run"
        if ours[0] != theirs[0]:
            return f"the first run has {ours[0]} where the second has {theirs[0]}"
        if ours[1] != theirs[1]:
            return f"{ours[0]}{_shown(name, ours[1], theirs[1])}"
    raise AssertionError(f"{name} differs in its digest but in no part")


def _mapping(path: Path) -> dict[str, str]:
    found = read_json(path)
    return found if isinstance(found, dict) else {}


def _shown(name: str, ours: bytes, theirs: bytes) -> str:
    if name.endswith((".safetensors", ".bin")):
        return " differs"
    return f" is {ours.decode()} and {theirs.decode()}"


def _parts(path: Path) -> Iterator[tuple[str, bytes]]:
    """Cut a file into named parts that can be compared: tensors, columns, leaves or lines."""
    if path.suffix == ".safetensors":
        return _tensors(path)
    if path.suffix == ".parquet":
        return _cells(path)
    if path.name == _EVENTS:
        return _events(path)
    return ((name, json.dumps(value).encode()) for name, value in _leaves(read_json(path)))


def _tensors(path: Path) -> Iterator[tuple[str, bytes]]:
    # Read by its plain layout, so that tensors of any type are compared as the bytes they are.
    with path.open("rb") as stream:
        (length,) = struct.unpack("<Q", stream.read(8))
        header: dict[str, Any] = json.loads(stream.read(length))
        for name, facts in sorted(header.items()):
            if name != "__metadata__":
                begin, end = facts["data_offsets"]
                stream.seek(8 + length + begin)
                yield f"tensor {name} ({facts['dtype']} {facts['shape']})", stream.read(end - begin)


def _cells(path: Path) -> Iterator[tuple[str, bytes]]:
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    for name in table.column_names:
        for row, value in enumerate(table[name].to_pylist()):
            yield f"{name} of row {row}", repr(value).encode()


def _events(path: Path) -> Iterator[tuple[str, bytes]]:
    for line in path.read_text().splitlines():
        values = json.loads(line)
        if values["event"] in _TOLD:
            yield from (
                (f"{values['event']} {values['step']}: {name}", json.dumps(value).encode())
                for name, value in _leaves({key: value for key, value in values.items() if key != "event"})
            )


def _leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for name in sorted(value):
            if name not in _CLOCK:
                yield from _leaves(value[name], f"{path}.{name}".lstrip("."))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _leaves(each, f"{path}[{number}]")
    else:
        yield path, value
