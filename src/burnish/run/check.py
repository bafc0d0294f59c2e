"""Checks that need several parts of an experiment at once, before any data is touched."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from burnish.config import Resolved
from burnish.errors import Problem
from burnish.run.selection import headline, is_count, type_name, unfit
from burnish.spec.experiment import Experiment
from burnish.spec.protocols import Metric


def problems(resolved: Resolved, *, missing: Collection[str] = ()) -> list[Problem]:
    """Find what does not fit together, each with where it came from; sections that are missing are not asked."""
    checks = [check for check, needed in _CHECKS.items() if not set(needed) & set(missing)]
    found = [each for check in checks for each in check(resolved.experiment)]
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
    labels = getattr(experiment.task, "labels", None)
    seen: set[str] = set()
    for number, metric in enumerate(experiment.metrics or ()):
        path, name, positive = f"metrics.{number}", type_name(metric), getattr(metric, "positive", None)
        if kind != "auto" and not metric.applies(kind):
            yield path, unfit(metric, kind, fitting=experiment.task.metrics(None))
        if seen & set(metric.names()):
            yield path, f"metrics: {name} gives the score `{metric.names()[0]}`, which is given above already"
        if labels and positive is not None and positive not in labels:
            known = ", ".join(labels)
            yield path, f"metrics: {name}.positive is {positive!r}, which is not one of task.labels: {known}"
        seen |= set(metric.names())


def _select(experiment: Experiment) -> Iterator[tuple[str, str]]:
    select = experiment.train.select
    metrics = tuple(experiment.task.metrics(None)) if experiment.metrics is None else experiment.metrics
    owners = {name: metric for metric in metrics for name in metric.names()}
    if experiment.metrics == ():
        yield "metrics", "metrics must name at least one; leave it out for those of the task"
    elif select.score is not None and select.score not in owners:
        yield "train.select.score", f"train.select.score must be one of {', '.join(owners)}, got {select.score!r}"
    elif select.score is None and metrics and headline(metrics) is None:
        yield "metrics", _counts_only(experiment, metrics)
    elif select.score is not None and select.direction == "auto" and is_count(owners[select.score]):
        yield (
            "train.select.score",
            f"train.select.direction must be max or min to select by {select.score}, which is a count of rows",
        )


def _counts_only(experiment: Experiment, metrics: Sequence[Metric]) -> str:
    named = " and ".join(map(type_name, metrics))
    usual = type_name(experiment.task.metrics(None)[0])
    return (
        f"metrics: {named} counts rows, which tells no best checkpoint; add a metric that judges, such as {usual}, "
        "or set train.select.score and train.select.direction"
    )


_CHECKS: Mapping[Callable[[Experiment], Iterator[tuple[str, str]]], tuple[str, ...]] = {
    _head: ("task", "model"),
    _length: ("task", "model"),
    _metrics: ("task", "metrics"),
    _select: ("task", "metrics", "train"),
}
"""What is asked, and of which sections."""
