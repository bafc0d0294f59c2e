"""Writes a run's numbers as TensorBoard event files, with neither torch nor TensorFlow."""

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import PositiveFloat

from burnish.extras import require
from burnish.spec.component import Component
from burnish.spec.events import Ended, Evaluated, Event, Saved, Started, Stepped

_FORMAT = "brain.Event:2"  # what a reader needs to see before it honours a session's start


class TensorBoard(Component):
    """Write TensorBoard event files into the run's `tensorboard/` folder."""

    flush_seconds: PositiveFloat = 10.0
    """The longest that a number waits before it is on disk."""

    def open(self, directory: Path, *, name: str) -> "EventFile":
        """Begin a new event file beside those of earlier attempts."""
        # A name like `demo/reviews` is two folders; one like `../x` must not leave the run directory.
        parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..")]
        return EventFile(directory.joinpath("tensorboard", *(parts or ["run"])), flush_seconds=self.flush_seconds)


class EventFile:
    """Turn events into records, and go quiet rather than end a run when the disk refuses."""

    def __init__(self, folder: Path, *, flush_seconds: float, now: Callable[[], float] = time.time) -> None:
        self._protocol = _Protocol()
        self._flush_seconds = flush_seconds
        self._now = now
        self._flushed_at = now()
        self._records: Any = None
        self._attempt(lambda: self._begin(folder))

    def emit(self, event: Event) -> None:
        """Write what the event says in numbers, if anything."""
        if self._records is not None:
            self._attempt(lambda: self._write(event))

    def close(self) -> None:
        """Put everything on disk; what is emitted later is dropped."""
        if self._records is not None:
            self._attempt(self._records.close)
        self._records = None

    def _begin(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # Readers take files in the order of their names: a count keeps attempts in order whatever the clock does.
        count = sum(1 for _ in folder.glob("events.out.tfevents.*"))
        path = folder / f"events.out.tfevents.{count:06d}.{int(self._now())}"
        self._records = self._protocol.records(path.open("xb"))
        self._records.write(self._protocol.event(wall_time=self._now(), file_version=_FORMAT))

    def _write(self, event: Event) -> None:
        now = self._now()
        if isinstance(event, Started):
            # A resumed run keeps what was written at the step it resumes from; one that begins again keeps nothing.
            first_new = event.step + 1 if event.step else 0
            self._records.write(self._protocol.restart(step=first_new, wall_time=now))
        scalars = dict(_scalars(event))
        if scalars:
            self._records.write(self._protocol.scalars(scalars, step=event.step, wall_time=now))
        if isinstance(event, Evaluated | Saved | Ended) or now - self._flushed_at >= self._flush_seconds:
            self._records.flush()
            self._flushed_at = now

    def _attempt(self, action: Callable[[], None]) -> None:
        try:
            action()
        except OSError as error:  # a full or lost disk: the run is worth more than its curves
            self._records = None
            warnings.warn(f"TensorBoard files are no longer written: {error}", RuntimeWarning, stacklevel=3)


class _Protocol:
    """Build TensorBoard's records; the only place that knows its modules."""

    def __init__(self) -> None:
        why = "to write TensorBoard files"
        self._writer = require("tensorboard.summary.writer.record_writer", extra="tensorboard", why=why)
        self._event = require("tensorboard.compat.proto.event_pb2", extra="tensorboard", why=why)
        self._summary = require("tensorboard.compat.proto.summary_pb2", extra="tensorboard", why=why)

    def records(self, file: Any) -> Any:
        return self._writer.RecordWriter(file)

    def event(self, **content: Any) -> bytes:
        return bytes(self._event.Event(**content).SerializeToString())

    def restart(self, **content: Any) -> bytes:
        """Tell readers to forget whatever an earlier attempt wrote from this step on."""
        return self.event(session_log=self._event.SessionLog(status=self._event.SessionLog.START), **content)

    def scalars(self, scalars: dict[str, float], **content: Any) -> bytes:
        values = [self._summary.Summary.Value(tag=tag, simple_value=value) for tag, value in scalars.items()]
        return self.event(summary=self._summary.Summary(value=values), **content)


def _scalars(event: Event) -> Iterator[tuple[str, float]]:
    if isinstance(event, Stepped):
        yield "train/loss", event.loss
        yield "train/learning_rate", event.learning_rate
        yield "train/gradient_norm", event.gradient_norm
    if isinstance(event, Evaluated):
        for name, value in event.scores.items():
            yield f"{event.split}/{name}", value
