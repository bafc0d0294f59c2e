"""Reads events.jsonl into curves, facts and happenings."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from burnish.report.data import CurvePoint, EvaluationCurve, Happening, Training

_MOST_POINTS = 400
_MOST_STEPS = 10**15
"""No run takes as many: a line that says so is passed over, as one that is torn."""


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


def read_story(path: Path) -> Story:
    """Read all whole lines; a torn one is passed over."""
    events = list(_events(path))
    started = [event for event in events if event.get("event") == "started"]
    facts = started[-1].get("facts") if started else None
    return Story(
        facts=facts if isinstance(facts, Mapping) else {},
        training=_training([event for event in events if event.get("event") == "stepped"]),
        evaluations=tuple(_evaluations([event for event in events if event.get("event") == "evaluated"])),
        happenings=tuple(_happenings(events)),
        num_attempts=len({str(event.get("attempt")) for event in started}),
        training_seconds=_training_seconds(events),
    )


def _training_seconds(events: Sequence[Mapping[str, Any]]) -> float | None:
    """Add up what each attempt took to train; None where the events carry no times."""
    times: dict[str, list[float]] = {}
    for event in events:
        time = _float(event.get("time"))
        if event.get("event") in ("started", "stepped", "evaluated") and math.isfinite(time):
            times.setdefault(str(event.get("attempt")), []).append(time)
    return round(sum(max(each) - min(each) for each in times.values()), 6) if times else None


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


def _events(path: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict) and _is_a_step(event.get("step", 0)):
            yield event


def _is_a_step(step: object) -> bool:
    return isinstance(step, int) and 0 <= step <= _MOST_STEPS


def _training(steps: Sequence[Mapping[str, Any]]) -> Training | None:
    if not steps:
        return None
    loss = _points(steps, "loss")
    return Training(thin(loss), thin(smooth(loss)), thin(_points(steps, "learning_rate")))


def _evaluations(evaluated: Sequence[Mapping[str, Any]]) -> Iterator[EvaluationCurve]:
    names = dict.fromkeys((str(event.get("split")), str(name)) for event in evaluated for name in _scores(event))
    best = [event.get("step") for event in evaluated if event.get("is_best")]
    for split, score in names:
        of_split = [event for event in evaluated if str(event.get("split")) == split]
        values = [{"step": event.get("step"), score: _scores(event).get(score)} for event in of_split]
        yield EvaluationCurve(score, split, _points(values, score), best[-1] if best else None)


def _scores(event: Mapping[str, Any]) -> Mapping[str, Any]:
    scores = event.get("scores")
    return scores if isinstance(scores, Mapping) else {}


def _points(events: Sequence[Mapping[str, Any]], name: str) -> tuple[CurvePoint, ...]:
    by_step: dict[int, float] = {}
    for event in events:
        step, value = event.get("step"), event.get(name)
        # A resumed run repeats steps; what it did last is what the checkpoint holds.
        if isinstance(step, int) and isinstance(value, int | float | str):
            by_step[step] = _float(value)
    return tuple(CurvePoint(step, value) for step, value in sorted(by_step.items()))


def _happenings(events: Sequence[Mapping[str, Any]]) -> Iterator[Happening]:
    for event in events:
        step = event.get("step") if isinstance(event.get("step"), int) else 0
        if event.get("event") == "noted":
            yield Happening(int(step or 0), str(event.get("message", "")))
        elif event.get("event") == "ended":
            yield Happening(int(step or 0), f"ended: {str(event.get('reason', '')).replace('_', ' ')}")


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")
