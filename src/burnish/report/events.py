"""Turns the events of a run into curves, facts and happenings."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from burnish.report.data import CurvePoint, EvaluationCurve, Happening, Training
from burnish.run.record.directory import RunDirectory
from burnish.run.record.events_file import EventsFile
from burnish.run.record.history import training_seconds
from burnish.spec.events import Ended, Evaluated, Event, Noted, Started, Stepped

_MOST_POINTS = 400


@dataclass(frozen=True)
class Story:
    """What the events of a run tell together."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    training: Training | None = None
    evaluations: tuple[EvaluationCurve, ...] = ()
    happenings: tuple[Happening, ...] = ()
    num_attempts: int = 0
    training_seconds: float | None = None
    """From the start of each attempt to its last step, added up."""


def read_story(directory: RunDirectory) -> Story:
    """Read all events; a line that is none is passed over."""
    records = list(EventsFile(directory.events).read(faulty="skip"))
    events = [record.event for record in records]
    started = [event for event in events if isinstance(event, Started)]
    return Story(
        facts=started[-1].facts if started else {},
        training=_training([event for event in events if isinstance(event, Stepped)]),
        evaluations=tuple(_evaluations([event for event in events if isinstance(event, Evaluated)])),
        happenings=tuple(_happenings(events)),
        num_attempts=len({record.attempt for record in records if isinstance(record.event, Started)}),
        training_seconds=training_seconds(records),
    )


def smooth(points: Sequence[CurvePoint]) -> tuple[CurvePoint, ...]:
    """Average over the recent past, a twentieth of the run, without a bias at the start."""
    keep = 1 - 1 / max(1.0, len(points) / 20)
    total, weight, smoothed = 0.0, 0.0, []
    for point in points:
        total, weight = keep * total + point.value, keep * weight + 1
        smoothed.append(CurvePoint(point.step, total / weight))
    return tuple(smoothed)


def thin(points: Sequence[CurvePoint], *, most: int = _MOST_POINTS) -> tuple[CurvePoint, ...]:
    """Average neighbours so that a long run still draws quickly."""
    size = -(-len(points) // most) if points else 1
    groups = [points[at : at + size] for at in range(0, len(points), size)]
    return tuple(CurvePoint(group[-1].step, sum(point.value for point in group) / len(group)) for group in groups)


def _training(steps: Sequence[Stepped]) -> Training | None:
    if not steps:
        return None
    loss = _points((event.step, event.loss) for event in steps)
    return Training(thin(loss), thin(smooth(loss)), thin(_points((each.step, each.learning_rate) for each in steps)))


def _evaluations(evaluated: Sequence[Evaluated]) -> Iterator[EvaluationCurve]:
    best = [event.step for event in evaluated if event.is_best]
    for split, score in dict.fromkeys((event.split, name) for event in evaluated for name in event.scores):
        values = [(each.step, each.scores[score]) for each in evaluated if each.split == split and score in each.scores]
        yield EvaluationCurve(score, split, _points(values), best[-1] if best else None)


def _points(values: Iterable[tuple[int, float]]) -> tuple[CurvePoint, ...]:
    # A resumed run repeats steps; what it did last is what the checkpoint holds.
    return tuple(CurvePoint(step, value) for step, value in sorted(dict(values).items()))


def _happenings(events: Sequence[Event]) -> Iterator[Happening]:
    for event in events:
        if isinstance(event, Noted):
            yield Happening(event.step, event.message)
        elif isinstance(event, Ended):
            yield Happening(event.step, f"ended: {event.reason.replace('_', ' ')}")
