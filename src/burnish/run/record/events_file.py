"""events.jsonl: what happened in a run, one JSON object a line. A line exists when its newline does."""

import errno
import json
import math
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from io import RawIOBase
from pathlib import Path
from typing import Any, Literal, get_args

from burnish.durable import read_whole_lines
from burnish.errors import CheckpointError
from burnish.run.record.directory import RunDirectory, write_text
from burnish.spec.events import Ended, Evaluated, Event, Saved, Stepped

_KINDS: dict[str, type[Any]] = {kind.__name__.lower(): kind for kind in get_args(Event)}
_LAST_SECOND = 1e11
"""Of the year 5138, counted from 1970."""
_MOST_STEPS = 10**15
_MUST_REACH_THE_DISK = (Saved, Ended)
_PLAIN: Mapping[object, Any] = {
    int: int,
    int | None: int | None,
    str: str,
    bool: bool,
    Mapping[str, object]: Mapping,
}
"""What a field of an event must be when it is read, by its annotation."""
_REPLAYED = "|".join(kind.__name__.lower() for kind in (Stepped, Evaluated, Saved))
_REPLAYED_STEP = re.compile(rf'\{{"event": "(?:{_REPLAYED})", "step": (\d{{1,18}}),'.encode())
"""Finds the step of a line without parsing it: a long run has a million of them to pass over."""


@dataclass(frozen=True)
class EventRecord:
    """An event, when it happened (seconds since 1970) and in which attempt."""

    event: Event
    time: float
    attempt: int


class EventsFile:
    """Append events as they happen, and read back what happened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: RawIOBase | None = None

    def append(self, event: Event, *, time: float, attempt: int) -> None:
        """Write one event as one line, at once."""
        line = json.dumps({**to_dict(event), "time": time, "attempt": attempt}, allow_nan=False) + "\n"
        try:
            file = self._opened()
            _write_whole(file, line.encode("utf-8"))
            if isinstance(event, _MUST_REACH_THE_DISK):
                os.fsync(file.fileno())
        except OSError as error:
            self.close()  # opened again, it is first cut back to its last whole line
            raise CheckpointError(f"{self.path} could not be written: {error.strerror or error}") from error

    def read(
        self, *, skip: Collection[type[Event]] = (), faulty: Literal["refuse", "skip"] = "refuse"
    ) -> Iterator[EventRecord]:
        """Give the records in order; kinds to skip are passed over without being parsed."""
        prefixes = tuple(_prefix(kind) for kind in skip)
        for number, line in enumerate(read_whole_lines(self.path), start=1):
            if not (prefixes and line.startswith(prefixes)):
                try:
                    record = parse(line, where=f"{self.path}:{number}")
                except CheckpointError:
                    if faulty == "refuse":
                        raise
                    continue
                if record is not None:
                    yield record

    def last(self, kind: type[Event]) -> EventRecord | None:
        """Give the newest record of a kind; cheap when it stands near the end."""
        prefix = _prefix(kind)
        lines = read_whole_lines(self.path)
        for number in range(len(lines), 0, -1):
            if lines[number - 1].startswith(prefix):
                return parse(lines[number - 1], where=f"{self.path}:{number}")
        return None

    def count_lost_seconds(self, step: int) -> float:
        """Count the seconds of work between a step and the last one, which an attempt that resumes there does again."""
        lines = [line for line in read_whole_lines(self.path) if line.startswith(_prefix(Stepped))]
        kept = (line for line in reversed(lines) if (told := _REPLAYED_STEP.match(line)) and int(told[1]) <= step)
        ends = [parse(line, where=str(self.path)) for line in (next(kept, lines[0]), lines[-1])] if lines else []
        first, last = [each.time for each in ends if each is not None] or [0.0, 0.0]
        return max(0.0, last - first)

    def rewind(self, step: int) -> int:
        """Forget what a resumed run will do again: steps, scores and checkpoints after `step`; tell how many lines."""
        self.close()
        kept: list[bytes] = []
        cut: list[bytes] = []
        for number, line in enumerate(read_whole_lines(self.path), start=1):
            told = _REPLAYED_STEP.match(line) if line.isascii() else None  # as every line is that a run wrote
            if told is None:
                parse(line, where=f"{self.path}:{number}")  # refuses what is no event
            (cut if told is not None and int(told[1]) > step else kept).append(line)
        if cut:
            # the cut lines are kept first: a crash between the two writes repeats them there and loses nothing
            with open(self.path.with_name("events.replaced.jsonl"), "ab") as file:
                file.writelines(cut)
                file.flush()
                os.fsync(file.fileno())
            write_text(self.path, b"".join(kept).decode("utf-8"))
        return len(cut)

    def close(self) -> None:
        """Let go of the file; a later append opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self) -> RawIOBase:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = open(self.path, "ab", buffering=0)  # noqa: SIM115  # held until close(); nothing is left in a buffer
            file.truncate(sum(map(len, read_whole_lines(self.path))))  # or the next line would be glued to half of one
            self._file = file
        return self._file


def read_evaluations(directory: RunDirectory) -> list[Evaluated]:
    """List what a run scored on the way, in order."""
    others = tuple(kind for kind in _KINDS.values() if kind is not Evaluated)
    events = (record.event for record in EventsFile(directory.events).read(skip=others, faulty="skip"))
    return [event for event in events if isinstance(event, Evaluated)]


def to_dict(event: Event) -> dict[str, object]:
    """Turn an event into JSON values, its kind first; nan and inf become strings."""
    values = {field.name: _encode(getattr(event, field.name)) for field in fields(event)}
    return {"event": type(event).__name__.lower(), **values}


def from_dict(values: Mapping[str, Any]) -> Event | None:
    """Turn JSON values into an event; None for a kind this version does not know. Unknown fields are passed over."""
    kind = _KINDS.get(values["event"])
    if kind is None:
        return None
    known = {field.name: _decode(values[field.name], field.type) for field in fields(kind) if field.name in values}
    event: Event = kind(**known)
    return event


def parse(line: bytes, *, where: str) -> EventRecord | None:
    """Read one line; None for a kind of event this version does not know."""
    try:
        values = json.loads(line)
        event = from_dict(values)
        record = None if event is None else EventRecord(event, float(values["time"]), int(values["attempt"]))
        if record is not None and not _can_be_shown(record):
            raise ValueError("no run was at such a time or place")
        return record
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise CheckpointError(
            f"{where} is not an event of a run; put the file back from a copy, or remove that line"
        ) from error


def _can_be_shown(record: EventRecord) -> bool:
    """Tell whether a clock can show its time, and a bar how far it was; losses and scores may be anything."""
    fraction = record.event.fraction if isinstance(record.event, Stepped) else 0.0
    is_somewhere = 0 <= record.time <= _LAST_SECOND and 0 <= record.event.step <= _MOST_STEPS
    return is_somewhere and math.isfinite(fraction)


def _encode(value: object) -> object:
    if isinstance(value, bool | str | int) or value is None:
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, Mapping):
        return {str(key): _encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encode(item) for item in value]
    item = getattr(value, "item", None)  # an array library's scalar
    return _encode(item()) if callable(item) else str(value)


def _decode(value: Any, annotation: object) -> Any:
    if annotation == float | None and value is None:
        return None
    if annotation in (float, float | None):
        return float(value)
    if annotation == Mapping[str, float]:
        return {name: float(score) for name, score in value.items()}
    if not isinstance(value, _PLAIN.get(annotation, object)):
        raise TypeError(f"{value!r} is not of type {annotation}")
    return value


def _prefix(kind: type[Event]) -> bytes:
    return f'{{"event": "{kind.__name__.lower()}"'.encode()


def _write_whole(file: RawIOBase, line: bytes) -> None:
    if file.write(line) != len(line):
        raise OSError(errno.ENOSPC, "the disk took only a part of the line")
