"""Saves checkpoints behind the back of the loop, one at a time, reports each, and decides which stay on disk."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from burnish.durable import sync_file
from burnish.engine.progress import TrainingProgress, is_due
from burnish.engine.state import TrainState
from burnish.spec.events import Event, Noted, Saved
from burnish.spec.experiment import Keep
from burnish.storage.background import Background
from burnish.storage.checkpoints import CheckpointStore
from burnish.storage.room import DiskSpace


@dataclass(frozen=True)
class CheckpointContent:
    """What goes into one checkpoint."""

    step: int
    values: Mapping[str, Any]
    """Plain numbers; `train.position` says how far the run had come."""
    write: Callable[[Path], None]
    num_bytes: int
    best_step: int | None


@dataclass
class Saver:
    """Write checkpoints in another thread; events come out in the thread that calls."""

    store: CheckpointStore
    room: DiskSpace
    keep: Keep
    events: Path
    emit: Callable[[Event], None]
    _background: Background[Event] = field(default_factory=Background)
    _is_closing: bool = False

    def begin(self, content: CheckpointContent) -> None:
        """Begin to write; the one before is waited for, and an error of its writing rises here."""
        self.finish()
        self._background.begin(lambda say: self._save(content, say))

    def tell(self) -> None:
        """Tell what the writer has done until now."""
        for event in self._background.heard():
            self.emit(event)

    def finish(self) -> None:
        """Wait until nothing is being written, telling what happens meanwhile."""
        for event in self._background.finished():
            self.emit(event)

    def __enter__(self) -> "Saver":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            self.finish()
            return
        # What went wrong first is what counts; a write under way is still completed, but waits for no disk.
        self._is_closing = True
        with suppress(Exception):
            self.finish()

    def _save(self, content: CheckpointContent, say: Callable[[Event], None]) -> None:
        give_up = self.room.should_give_up
        checkpoint = replace(self.room, should_give_up=lambda: self._is_closing or give_up()).write(
            lambda: self._write(content),
            needed=content.num_bytes,
            give_up_something=lambda: self._freed(content),
            tell=lambda sentence: say(Noted(content.step, sentence)),
        )
        self._retain(content)
        say(Saved(content.step, str(checkpoint)))

    def _write(self, content: CheckpointContent) -> Path:
        # The events before a checkpoint must be on disk with it: only those after it are made again by a resume.
        sync_file(self.events)
        return self.store.save(content.step, content.values, content.write).path

    def _retain(self, content: CheckpointContent) -> list[int]:
        states = self._states(content.step)
        places = _places(states)
        # One that was saved for a stop counts for nothing, and goes when the run has come further.
        passing = {step for step in states if step < content.step} - set(places)
        doomed = sorted((set(places) - wanted(places, keep=self.keep, best=content.best_step)) | passing)
        for step in doomed:
            self.store.delete(step)
        return doomed

    def _freed(self, content: CheckpointContent) -> str | None:
        doomed = self._retain(content)
        if not doomed:
            oldest = dispensable(_places(self._states(content.step)), best=content.best_step)
            if oldest is None:
                return None
            self.store.delete(oldest)
            doomed = [oldest]
        steps = ", ".join(map(str, doomed))
        return f"the disk is full; deleted the checkpoint of step {steps} to make room for a new one"

    def _states(self, until: int) -> dict[int, dict[str, Any]]:
        # A run that went back to make a lost best one again still has later ones: they must not push out those before.
        return {step: state for step, state in self.store.states().items() if step <= until}


def _places(states: Mapping[int, Mapping[str, Any]]) -> dict[int, TrainingProgress]:
    places: dict[int, TrainingProgress] = {}
    for step, state in states.items():
        with suppress(ValueError):  # one that cannot be understood is left alone, until the next start finds it
            train = TrainState.from_json(state.get("train", {}))
            if train.is_due:
                places[step] = train.position
    return places


def wanted(places: Mapping[int, TrainingProgress], *, keep: Keep, best: int | None) -> set[int]:
    """Name the steps that stay: the newest, the best, and the first at or after each multiple of `every`."""
    steps = sorted(places)
    stay = {step for step in steps if step == best} | set(steps[-keep.last :])
    before = TrainingProgress()
    for step in steps:
        # Whoever opens a new multiple stays for good, so what was deleted between never changes the answer.
        if is_due(keep.every, before=before, now=places[step]):
            stay.add(step)
        before = places[step]
    return stay


def dispensable(places: Mapping[int, TrainingProgress], *, best: int | None) -> int | None:
    """Name the oldest step that may go when the disk is full: never the best, never the newest."""
    return next((step for step in sorted(places)[:-1] if step != best), None)
