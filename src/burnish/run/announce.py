"""Tells the notifiers of an experiment how its run goes, from a thread that the run never waits for, but at its end."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread

from burnish.errors import BurnishError
from burnish.run.record.directory import RunDirectory
from burnish.run.record.ending import COMPLETE
from burnish.run.record.events_file import EventsFile
from burnish.run.record.plan import read_plan
from burnish.run.record.result import read_sheet
from burnish.spec.events import Ended, Evaluated, Started, Stepped, TrackedEvent
from burnish.spec.experiment import Experiment
from burnish.spec.news import News, Notifier, Occasion
from burnish.spec.secret import Secret

_LAST_SECONDS = 15.0
"""How long the end of a run waits for its last notifications."""


class Announcer:
    """Watches a run and hands news to each notifier; what one runs into is noted once."""

    def __init__(
        self,
        notifiers: Sequence[Notifier],
        run: RunDirectory,
        *,
        name: str,
        note: Callable[[str], None],
        began: float | None = None,
        step: int = 0,
        now: Callable[[], float] = time.monotonic,
        last_seconds: float = _LAST_SECONDS,
    ) -> None:
        self._run, self._name, self._note, self._now = run, name, note, now
        self._last_seconds = last_seconds
        self._began = now() if began is None else began
        self._step = step
        self._scores: Mapping[str, float] = {}
        self._ended: Ended | None = None
        self._posts = [_Post(each) for each in notifiers]

    def emit(self, event: TrackedEvent) -> None:
        """Send what somebody wants to hear of."""
        self._step = max(self._step, event.step)
        if isinstance(event, Started):
            for each in self._posts:
                each.look_for_secrets()
            self._tell("start")
        elif isinstance(event, Evaluated) and event.is_best:
            self._scores = event.scores
            self._tell("best", scores=event.scores)
        elif isinstance(event, Ended):
            self._ended = event
        if not isinstance(event, Stepped):
            self._note_failures()

    def close(self) -> None:
        """Tell of the end, when scores and artifact are there, and wait a moment for what is under way."""
        if self._ended is not None:
            is_complete = self._ended.reason in COMPLETE
            scores = _read_scores(self._run) if is_complete else {}
            reason = self._ended.reason.replace("_", " ")
            self._tell("end" if is_complete else "preemption", scores=scores or self._scores, message=reason)
        self._finish()

    def fail(self, message: str) -> None:
        """Tell of a run that ended with an error."""
        self._tell("failure", message=message)
        self._finish()

    def _tell(self, occasion: Occasion, *, scores: Mapping[str, float] | None = None, message: str = "") -> None:
        minutes = (self._now() - self._began) / 60
        where = str(self._run.path.absolute())
        news = News(occasion, self._name, where, minutes, self._step, dict(scores or {}), message)
        for each in self._posts:
            each.put(news)

    def _finish(self) -> None:
        for each in self._posts:
            each.put(None)
        deadline = self._now() + self._last_seconds
        for each in self._posts:
            each.wait(max(0.0, deadline - self._now()))
        self._note_failures()

    def _note_failures(self) -> None:
        for each in self._posts:
            if each.failure and not each.is_noted:
                each.is_noted = True
                self._note(f"{type(each.notifier).__name__} could not be notified: {each.failure}; the run goes on")


class _Post:
    """A notifier with a thread of its own, so that a slow one delays neither the run nor another."""

    def __init__(self, notifier: Notifier) -> None:
        self.notifier = notifier
        self.failure = ""
        self.is_noted = False
        self._queue: SimpleQueue[News | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name="burnish-notify", daemon=True)

    def look_for_secrets(self) -> None:
        """Read them once, so that one that is not there is known at the start of a run, and not at its end."""
        held = (getattr(self.notifier, name) for name in type(self.notifier).model_fields)
        try:
            for value in held:
                for each in value if isinstance(value, tuple) else (value,):
                    _ = each.reveal() if isinstance(each, Secret) else None
        except BurnishError as error:
            self.failure = str(error)

    def put(self, news: News | None) -> None:
        """Leave news for the thread, or None as the last; the first that is wanted starts it."""
        is_wanted = news is not None and news.occasion in self.notifier.on
        if is_wanted and not self._thread.is_alive():
            self._thread.start()
        if is_wanted or news is None:
            self._queue.put(news)

    def wait(self, seconds: float) -> None:
        """Give the thread a last moment."""
        if self._thread.is_alive():
            self._thread.join(seconds)
        if self._thread.is_alive():
            self.failure = self.failure or "it took too long"

    def _work(self) -> None:
        while (news := self._queue.get()) is not None:
            try:
                self.notifier.send(news)
            except BurnishError as error:
                self.failure = str(error)
            except Exception as error:  # whatever a notifier runs into, and its text may hold a secret
                self.failure = type(error).__name__


def announce_failure(
    run: RunDirectory,
    error: BurnishError,
    *,
    began: float,
    note: Callable[[str], None],
    now: Callable[[], float] = time.time,
) -> None:
    """Tell the notifiers of a planned run that it ended with an error; nothing comes of one that cannot be read."""
    with suppress(BurnishError):
        experiment: Experiment = read_plan(run)
        if experiment.notify:
            step = _read_step(run)
            Announcer(experiment.notify, run, name=experiment.name, note=note, began=began, step=step, now=now).fail(
                str(error)
            )


def _read_step(run: RunDirectory) -> int:
    with suppress(BurnishError):
        last = EventsFile(run.events).last(Stepped)
        return last.event.step if last else 0
    return 0


def _read_scores(run: RunDirectory) -> dict[str, float]:
    """Take the scores of every split, those of the test first."""
    with suppress(BurnishError):
        sheet = read_sheet(run)
        splits = sorted(sheet.scores.items(), key=lambda each: each[0] != "test") if sheet else []
        return {f"{split}/{name}": score.value for split, scores in splits for name, score in scores.items()}
    return {}
