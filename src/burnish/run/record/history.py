"""Reads from events.jsonl how a run went: when it began, how far it is, what was best."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from burnish.run.record.directory import RunDirectory
from burnish.run.record.events_file import EventRecord, EventsFile
from burnish.spec.events import Ended, Evaluated, Noted, Started, Stepped


@dataclass(frozen=True)
class History:
    """Hold what the events of a run come to."""

    started: float | None = None
    """Seconds since 1970."""
    seconds: float = 0.0
    """Time at work, over all attempts."""
    num_attempts: int = 0
    step: int = 0
    total_steps: int | None = None
    best_step: int | None = None
    best_score: float | None = None
    best_name: str | None = None
    """What that score is called, where the events tell."""
    evaluations: tuple[Evaluated, ...] = ()
    notes: tuple[str, ...] = ()


def read_history(directory: RunDirectory) -> History:
    """Read a run's events; steps are passed over but for the last, so that a long run costs little."""
    file = EventsFile(directory.events)
    records = list(file.read(skip=(Stepped,)))
    newest = file.last(Stepped)
    return _history(records if newest is None else [*records, newest])


def training_seconds(records: Iterable[EventRecord]) -> float | None:
    """Add up the time from the start of each attempt to its last step or evaluation; None before the first."""
    times: dict[int, list[float]] = {}
    for record in records:
        if isinstance(record.event, Started | Stepped | Evaluated):
            times.setdefault(record.attempt, []).append(record.time)
    return round(sum(max(each) - min(each) for each in times.values()), 6) if times else None


def _history(records: list[EventRecord]) -> History:
    if not records:
        return History()
    events = [record.event for record in records]
    starts = [event for event in events if isinstance(event, Started)]
    evaluations = tuple(event for event in events if isinstance(event, Evaluated))
    best_step, best_score = _best(events)
    attempts = {record.attempt for record in records}
    spans = [[record.time for record in records if record.attempt == attempt] for attempt in attempts]
    return History(
        started=min(record.time for record in records),
        seconds=sum(max(times) - min(times) for times in spans),
        num_attempts=max(record.attempt for record in records),
        step=max(event.step for event in events),
        total_steps=starts[-1].total_steps if starts else None,
        best_step=best_step,
        best_score=best_score,
        best_name=_name_best(events, step=best_step, score=best_score),
        evaluations=evaluations,
        notes=tuple(event.message for event in events if isinstance(event, Noted)),
    )


def _best(events: Iterable[object]) -> tuple[int | None, float | None]:
    endings = [event for event in events if isinstance(event, Ended) and event.best_score is not None]
    best = [event for event in events if isinstance(event, Evaluated) and event.is_best]
    if endings and not (best and best[-1].step > endings[-1].step):
        return endings[-1].best_step, endings[-1].best_score
    if not best:
        return None, None
    return best[-1].step, next(iter(best[-1].scores.values()), None)


def _name_best(events: Sequence[object], *, step: int | None, score: float | None) -> str | None:
    """Name the score that decides: as the end says, or else as the best evaluation calls that value."""
    for event in events:
        if isinstance(event, Ended) and event.select is not None:
            return event.select.removeprefix("validation/")
    for event in events:
        if isinstance(event, Evaluated) and event.step == step:
            for name, value in event.scores.items():
                if value == score:
                    return name
    return None
