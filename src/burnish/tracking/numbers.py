"""What trackers write of a run, whoever they write for: its options, and the numbers of its events."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from burnish.spec.events import Evaluated, FinalScores, Stepped, TrackedEvent

_PLAN = "plan.yaml"
_PLACES = ("data.dir", "data.train", "data.validation", "data.test")
"""Where rows are is no option to compare runs by."""


def scalars_of(event: TrackedEvent, *, every: int = 1) -> Iterator[tuple[str, float]]:
    """Name the numbers of an event, like `train/loss`; the scores of the finished model begin with `final/`.

    Of steps, those of every so many are given.
    """
    if isinstance(event, Stepped) and event.step % every == 0:
        yield "train/loss", event.loss
        yield "train/learning_rate", event.learning_rate
        yield "train/gradient_norm", event.gradient_norm
    if isinstance(event, Evaluated | FinalScores):
        start = "final/" if isinstance(event, FinalScores) else ""
        for name, value in event.scores.items():
            yield f"{start}{event.split}/{name}", value


def read_hyperparameters(directory: Path) -> dict[str, str | float | bool]:
    """Read the options of a run's plan as flat values, `optimizer.learning_rate` and the like; none without a plan."""
    try:
        plan = yaml.safe_load((directory / _PLAN).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return dict(_flatten(plan, ""))


def _flatten(value: object, path: str) -> Iterator[tuple[str, str | float | bool]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flatten(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for number, each in enumerate(value):
            yield from _flatten(each, f"{path}.{number}")
    elif value is not None and path not in _PLACES and path != "description":
        yield path, value if isinstance(value, bool | int | float) else _number(str(value))


def _number(text: str) -> str | float:
    """Read `5e-05`, which YAML takes for text, as the number it is."""
    try:
        return float(text)
    except ValueError:
        return text
