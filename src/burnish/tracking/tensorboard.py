"""Writes a run's numbers as TensorBoard event files, with neither torch nor TensorFlow."""

import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from pydantic import PositiveFloat, PositiveInt

from burnish.extras import require
from burnish.spec.component import Component
from burnish.spec.events import Ended, Evaluated, FinalScores, Saved, Started, Stepped, TrackedEvent
from burnish.tracking.numbers import read_hyperparameters, scalars_of

_FORMAT = "brain.Event:2"  # what a reader needs to see before it honours a session's start


class TensorBoard(Component):
    """Write TensorBoard event files into the run's `tensorboard/` folder."""

    extras: ClassVar[tuple[str, ...]] = ("tensorboard",)
    flush_seconds: PositiveFloat = 10.0
    """The longest that a number waits before it is on disk."""
    every: PositiveInt = 1
    """Write the loss, rate and gradient norm of each so many-th step."""

    def open(self, directory: Path, *, name: str) -> "EventFile":
        """Begin a new event file beside those of earlier attempts."""
        # A name like `demo/reviews` is two folders; one like `../x` must not leave the run directory.
        parts = [part for part in PurePosixPath(name).parts if part not in ("/", "..")]
        folder = directory.joinpath("tensorboard", *(parts or ["run"]))
        options = read_hyperparameters(directory)
        return EventFile(folder, flush_seconds=self.flush_seconds, every=self.every, options=options)


class EventFile:
    """Turn events into records, and go quiet rather than end a run when the disk refuses.

    A tracker of your own may hold one and write its own scalars, texts and figures.
    """

    def __init__(
        self,
        folder: Path,
        *,
        flush_seconds: float,
        every: int = 1,
        options: Mapping[str, str | float | bool] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._protocol = _Protocol()
        self._flush_seconds = flush_seconds
        self._every = every
        self._now = now
        self._flushed_at = now()
        self._records: Any = None
        self._attempt(lambda: self._begin(folder, options or {}))

    def scalar(self, tag: str, value: float, *, step: int) -> None:
        """Write a number of your own."""
        self._add(self._protocol.scalars({tag: value}), step=step)

    def text(self, tag: str, text: str, *, step: int) -> None:
        """Write a text of your own, in Markdown."""
        self._add(self._protocol.text(tag, text), step=step)

    def figure(self, tag: str, png: bytes, *, step: int, size: tuple[int, int]) -> None:
        """Write a picture of your own: the bytes of a PNG, its width and height."""
        self._add(self._protocol.figure(tag, png, size), step=step)

    def emit(self, event: TrackedEvent) -> None:
        """Write what the event says in numbers, if anything."""
        if self._records is not None:
            self._attempt(lambda: self._write(event))

    def close(self) -> None:
        """Put everything on disk; what is emitted later is dropped."""
        if self._records is not None:
            self._attempt(self._records.close)
        self._records = None

    def _add(self, summary: Any, *, step: int) -> None:
        if self._records is not None:
            content = {"summary": summary, "step": step, "wall_time": self._now()}
            self._attempt(lambda: self._records.write(self._protocol.event(**content)))

    def _begin(self, folder: Path, options: Mapping[str, str | float | bool]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        # Readers take files in the order of their names: a count keeps attempts in order whatever the clock does.
        count = sum(1 for _ in folder.glob("events.out.tfevents.*"))
        path = folder / f"events.out.tfevents.{count:06d}.{int(self._now())}"
        self._records = self._protocol.records(path.open("xb"))
        self._records.write(self._protocol.event(wall_time=self._now(), file_version=_FORMAT))
        if options:
            summary = self._protocol.hyperparameters(options)
            self._records.write(self._protocol.event(wall_time=self._now(), summary=summary))

    def _write(self, event: TrackedEvent) -> None:
        now = self._now()
        if isinstance(event, Started):
            # A resumed run keeps what was written at the step it resumes from; one that begins again keeps nothing.
            first_new = event.step + 1 if event.step else 0
            self._records.write(self._protocol.restart(step=first_new, wall_time=now))
        is_left_out = isinstance(event, Stepped) and event.step % self._every > 0
        scalars = {} if is_left_out else dict(scalars_of(event))
        if scalars:
            summary = self._protocol.scalars(scalars)
            self._records.write(self._protocol.event(summary=summary, step=event.step, wall_time=now))
        if isinstance(event, Evaluated | Saved | FinalScores | Ended) or now - self._flushed_at >= self._flush_seconds:
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
        self._tensor = require("tensorboard.compat.proto.tensor_pb2", extra="tensorboard", why=why)

    def records(self, file: Any) -> Any:
        return self._writer.RecordWriter(file)

    def event(self, **content: Any) -> bytes:
        return bytes(self._event.Event(**content).SerializeToString())

    def restart(self, **content: Any) -> bytes:
        """Tell readers to forget whatever an earlier attempt wrote from this step on."""
        return self.event(session_log=self._event.SessionLog(status=self._event.SessionLog.START), **content)

    def scalars(self, scalars: Mapping[str, float]) -> Any:
        return self._of(*(self._summary.Summary.Value(tag=tag, simple_value=each) for tag, each in scalars.items()))

    def text(self, tag: str, text: str) -> Any:
        plugin = self._summary.SummaryMetadata.PluginData(plugin_name="text")
        tensor = self._tensor.TensorProto(
            dtype="DT_STRING",
            string_val=[text.encode()],
            tensor_shape={"dim": [{"size": 1}]},
        )
        metadata = self._summary.SummaryMetadata(plugin_data=plugin)
        return self._of(self._summary.Summary.Value(tag=tag, tensor=tensor, metadata=metadata))

    def figure(self, tag: str, png: bytes, size: tuple[int, int]) -> Any:
        image = self._summary.Summary.Image(width=size[0], height=size[1], colorspace=3, encoded_image_string=png)
        return self._of(self._summary.Summary.Value(tag=tag, image=image))

    def hyperparameters(self, options: Mapping[str, str | float | bool]) -> Any:
        """Fill the row of this run on the page HParams."""
        pages = require("tensorboard.plugins.hparams.summary_v2", extra="tensorboard", why="to write TensorBoard files")
        return pages.hparams_pb(dict(options))

    def _of(self, *values: Any) -> Any:
        return self._summary.Summary(value=values)
