"""What a run's events say to someone who watches: pure functions from events to text."""

import math
from dataclasses import dataclass, replace

from burnish.cli.figures import duration, facts_table, figure, number
from burnish.run.record.ending import COMPLETE
from burnish.spec.events import Ended, Evaluated, Event, Noted, Saved, Started, Stepped

_MEMORY_SECONDS = 60.0
"""Speeds are averages over about this much of the past."""
_SHOWN_SCORES = 4
_FIRST_TO_GO = ("examples", "steps", "loss", "best", "step")
"""What a narrow terminal does without, in this order."""

_ENDINGS = {
    "finished": "trained to",
    "early_stopping": "stopped early at",
    "interrupted": "interrupted at",
    "preempted": "preempted at",
    "deadline": "stopped by train.max_minutes at",
    "stop_file": "stopped by its STOP file at",
    "orphaned": "stopped because its parent process is gone at",
}


@dataclass(frozen=True)
class Speed:
    """Sums that fade with time; their ratios are the recent speeds."""

    seconds: float = 0.0
    steps: float = 0.0
    examples: float = 0.0
    fraction: float = 0.0

    def after(self, seconds: float, *, steps: float, examples: float, fraction: float) -> "Speed":
        """Fade by the time that passed and add what was done in it."""
        fade = math.exp(-seconds / _MEMORY_SECONDS)
        return Speed(
            self.seconds * fade + seconds,
            self.steps * fade + steps,
            self.examples * fade + examples,
            self.fraction * fade + fraction,
        )


@dataclass(frozen=True)
class Progress:
    """How far a run is, as far as its events said."""

    total_steps: int | None = None
    step: int = 0
    fraction: float = 0.0
    loss: float | None = None
    best: str | None = None
    """The best score so far with its name, like `accuracy 0.9120`."""
    select: str | None = None
    """The score that decides which is best; the first one if the run did not say."""
    speed: Speed = Speed()
    stepped_at: float | None = None

    @property
    def seconds_left(self) -> float | None:
        """The time to the end at the recent speed; None when there is nothing to go by."""
        speed = self.speed
        return (1.0 - self.fraction) * speed.seconds / speed.fraction if speed.fraction > 0 else None


def advance(progress: Progress, event: Event, *, now: float) -> Progress:
    """Take one event into account; `now` is any clock in seconds that never goes back."""
    match event:
        case Started():
            select = event.facts.get("select")
            return Progress(event.total_steps, event.step, select=None if select is None else str(select))
        case Stepped():
            speed = progress.speed
            # the first step only starts the clock: before it the worker was compiling, not stepping
            if progress.stepped_at is not None:
                speed = speed.after(
                    now - progress.stepped_at,
                    steps=event.step - progress.step,
                    examples=event.examples,
                    fraction=event.fraction - progress.fraction,
                )
            return replace(
                progress, step=event.step, fraction=event.fraction, loss=event.loss, speed=speed, stepped_at=now
            )
        case Evaluated(is_best=True) if event.scores:
            select = progress.select or ""
            name = select if select in event.scores else next(iter(event.scores))
            return replace(progress, best=f"{name} {figure(event.scores[name])}")
        case _:
            return progress


def announce(event: Event, *, is_summarised: bool = False, columns: int | None = None) -> str | None:
    """Write the lines an event deserves; None for those that only move the bar.

    Where a summary follows, that says how a run was stopped. A line of scores has as many as fit into `columns`.
    """
    match event:
        case Ended() if is_summarised and event.reason not in COMPLETE:
            return None
        case Started():
            return _describe_start(event)
        case Evaluated():
            return _describe_scores(event, columns=columns)
        case Noted():
            return f"note: {event.message}"
        case Ended():
            return _describe_end(event)
        case Stepped() | Saved():
            return None


def status_line(progress: Progress, *, columns: int | None = None) -> str:
    """Say in one line how far the run is, how fast it goes and how long it will take.

    Where not everything fits into `columns`, speeds go first, then the loss and the best score: never the time left.
    """
    of_total = "" if progress.total_steps is None else f"/{progress.total_steps:,}"
    speed = progress.speed
    parts = {"share": f"{math.floor(progress.fraction * 100):3d}%", "step": f"step {progress.step:,}{of_total}"}
    if progress.loss is not None:
        parts["loss"] = f"loss {number(progress.loss)}"
    if progress.best is not None:
        parts["best"] = f"best {progress.best}"
    if speed.seconds > 0:
        parts["steps"] = f"{number(speed.steps / speed.seconds)} steps/s"
        parts["examples"] = f"{number(speed.examples / speed.seconds)} examples/s"
    if speed.seconds > 0 and progress.seconds_left is not None:
        parts["left"] = f"{duration(progress.seconds_left)} left"
    for name in _FIRST_TO_GO:
        if columns is None or len("  ".join(parts.values())) <= columns:
            break
        parts.pop(name, None)
    return "  ".join(parts.values())


def _describe_scores(event: Evaluated, *, columns: int | None) -> str:
    names = list(event.scores)[:_SHOWN_SCORES]
    while True:
        scores = "  ".join(f"{name} {figure(event.scores[name], name=name)}" for name in names)
        line = f"step {event.step:,}  {event.split}  {scores}{'  ★ best' * event.is_best}"
        if columns is None or len(line) <= columns or len(names) <= 1:
            return line
        names.pop()


def _describe_start(event: Started) -> str:
    begun = "started" if event.step == 0 else f"resumed at step {event.step:,} (attempt {event.attempt})"
    steps = [] if event.total_steps is None else [("steps", f"{event.total_steps:,}")]
    lines = [*steps, *facts_table(event.facts)]
    width = max((len(name) for name, _ in lines), default=0)
    return "\n".join([begun, *(f"  {name:<{width}}  {value}" for name, value in lines)])


def _describe_end(event: Ended) -> str:
    place = f"{_ENDINGS.get(event.reason, f'{event.reason} at')} step {event.step:,}"
    if event.reason not in COMPLETE:
        return f"{place}; state saved" if event.reason in _ENDINGS else place
    score = "" if event.select is None else f" {event.select}"
    why = ""
    if event.reason == "early_stopping":
        count = "" if event.patience is None else f" in {event.patience} evaluation{'s' * (event.patience != 1)}"
        why, score = f": no better{score or ' score'}{count}", ""
    best = ""
    if event.best_step is not None and event.best_score is not None:
        best = f"; best{score} {figure(event.best_score)} at step {event.best_step:,}"
    return f"{place}{why}{best}"
