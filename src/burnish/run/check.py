"""Checks that need several parts of an experiment at once, before any data is touched."""

from collections.abc import Iterator

from burnish.config import Resolved
from burnish.errors import Problem
from burnish.spec.experiment import Experiment
from burnish.spec.protocols import Metric


def problems(resolved: Resolved) -> list[Problem]:
    """Find what does not fit together, each with where it came from."""
    experiment = resolved.experiment
    found = [*_head(experiment), *_length(experiment), *_metrics(experiment), *_select(experiment)]
    return [Problem(message, resolved.origin(path).lines()) for path, message in found]


def _head(experiment: Experiment) -> Iterator[tuple[str, str]]:
    wanted, given = experiment.task.heads, experiment.model.heads
    if not set(wanted) & set(given):
        yield "model", f"model ends in {' or '.join(given)}, and the task needs {' or '.join(wanted)}"


def _length(experiment: Experiment) -> Iterator[tuple[str, str]]:
    limit = experiment.model.max_positions()
    asked = getattr(experiment.task, "max_length", None)
    if limit is not None and asked is not None and asked > limit:
        yield "task.max_length", f"task.max_length must be at most {limit}, the positions of the model, got {asked}"


def _metrics(experiment: Experiment) -> Iterator[tuple[str, str]]:
    kind = getattr(experiment.task, "kind", "auto")
    for number, metric in enumerate(experiment.metrics or ()):
        if kind != "auto" and not metric.applies(kind):
            fitting = ", ".join(each.names()[0] for each in experiment.task.metrics(None))
            yield f"metrics.{number}", f"metrics: {metric.names()[0]} does not score {kind} labels; these do: {fitting}"


def _select(experiment: Experiment) -> Iterator[tuple[str, str]]:
    score = experiment.train.select.score
    metrics: tuple[Metric, ...] = experiment.metrics or tuple(experiment.task.metrics(None))
    known = list(dict.fromkeys(name for metric in metrics for name in metric.names()))
    if score is not None and score not in known:
        yield "train.select.score", f"train.select.score must be one of {', '.join(known)}, got {score!r}"
