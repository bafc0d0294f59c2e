"""Checks that need several parts of an experiment at once, before any data is touched."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from burnish.config import Resolved
from burnish.data.files import Files
from burnish.errors import Problem
from burnish.registry import default_registry
from burnish.run.selection import AUTO, LOSS, falling, headline, is_count, type_name, unfit
from burnish.spec.experiment import Experiment
from burnish.spec.parts import MEAN, divide_tasks, find_unmatched, prefix
from burnish.spec.protocols import Joint, Metric, Sets, Task

_TABULAR = "tabular"
"""The head of models that read tables."""


def problems(resolved: Resolved, *, missing: Collection[str] = ()) -> list[Problem]:
    """Find what does not fit together, each with where it came from; sections that are missing are not asked."""
    asked = _CHECKS_OF_SEVERAL if _has_several(resolved.experiment, missing) else _CHECKS
    checks = [check for check, needed in asked.items() if not set(needed) & set(missing)]
    found = [each for check in checks for each in check(resolved.experiment)]
    return [Problem(message, resolved.origin(path).lines()) for path, message in found]


def _has_several(experiment: Experiment, missing: Collection[str]) -> bool:
    """Tell whether there are several tasks, or sets for several."""
    has_tasks = "task" not in missing and isinstance(experiment.task, Joint)
    return has_tasks or ("data" not in missing and isinstance(experiment.data, Sets))


def _shared_heads(experiment: Experiment) -> Iterator[tuple[str, str]]:
    for name, task in experiment.task.tasks.items() if isinstance(experiment.task, Joint) else ():
        yield from _shared_head(experiment, name, task)


def _own_scores(experiment: Experiment) -> Iterator[tuple[str, str]]:
    if experiment.metrics is not None and isinstance(experiment.task, Joint):
        yield "metrics", "metrics: each of several tasks has its own scores; name them in task.scores, task by task"


def _known_epochs(experiment: Experiment) -> Iterator[tuple[str, str]]:
    task = experiment.task
    length = experiment.train.length
    by_clock = length != "auto" and length.unit == "minutes"
    if by_clock and isinstance(task, Joint) and task.power(1, num_epochs=2) != task.power(1, num_epochs=3):
        yield (
            "task.sampling",
            "task.sampling.epochs is needed when train.length is in minutes, which leaves the number of epochs open",
        )


def _parts(experiment: Experiment) -> Iterator[tuple[str, str]]:
    if any(find_unmatched(experiment)):
        return
    parts = divide_tasks(experiment)
    for name, part in parts.items():
        yield from _readable(part, place=f"data.sets.{name}")
        yield from _length(part, place=f"task.tasks.{name}")
        yield from _metrics(part, place=f"task.scores.{name}")
        yield from _rising(part, name)
    yield from _joint_select(experiment, parts)


def _shared_head(experiment: Experiment, name: str, task: Task) -> Iterator[tuple[str, str]]:
    given = experiment.model.joint_heads
    if given and not set(task.heads) & set(given):
        yield (
            f"task.tasks.{name}",
            f"task.tasks.{name} needs {' or '.join(task.heads)}, which cannot share its encoder with other tasks; "
            f"those with {', '.join(given)} can. Train it in a separate run",
        )


def _rising(experiment: Experiment, name: str) -> Iterator[tuple[str, str]]:
    """Find a first score that falls, as far as that is known before the labels are."""
    kind = getattr(experiment.task, "kind", "auto")
    own = [metric for metric in experiment.task.metrics(None) if kind == "auto" or metric.applies(kind)]
    is_known = kind != "auto" or experiment.metrics is not None
    sentence = falling(name, experiment, own) if is_known and own else None
    if sentence:
        yield f"task.{'tasks' if experiment.metrics is None else 'scores'}.{name}", sentence


def _joint_select(experiment: Experiment, parts: Mapping[str, Experiment]) -> Iterator[tuple[str, str]]:
    score = experiment.train.select.score
    known = [MEAN, *(prefix(name, each) for name, part in parts.items() for each in _score_names(part))]
    if score is not None and score not in known:
        yield "train.select.score", f"train.select.score must be one of {', '.join(known)}, got {score!r}"
    elif score == MEAN and experiment.train.select.direction == "min":
        yield "train.select.direction", "train.select.direction must be max to select by mean, a score that rises"
    for part in parts.values():
        if part.train.select.score is not None and score in known:
            yield from _select(part)


def _score_names(experiment: Experiment) -> list[str]:
    metrics = experiment.task.metrics(None) if experiment.metrics is None else experiment.metrics
    return list(dict.fromkeys(name for metric in metrics for name in metric.names()))


def _head(experiment: Experiment) -> Iterator[tuple[str, str]]:
    wanted, given = experiment.task.heads, experiment.model.heads
    if set(wanted) & set(given):
        return
    registry = default_registry()
    task, model = registry.name_of("tasks", type(experiment.task)), registry.name_of("models", type(experiment.model))
    called = getattr(experiment.model, "name", None) or model
    if _TABULAR in given:
        yield "model", f"model: {called} reads tables; {task} needs a transformer, e.g. model: distilbert-base-uncased"
    elif _TABULAR in wanted:
        yield "model", f"model: {called} reads texts; {task} needs a model for tables, e.g. model: tab_m"
    else:
        yield "model", f"model: {called} ends in {' or '.join(given)}, and {task} needs {' or '.join(wanted)}"


def _length(experiment: Experiment, *, place: str = "task") -> Iterator[tuple[str, str]]:
    limit = experiment.model.max_positions()
    asked = getattr(experiment.task, "max_length", None)
    if limit is not None and asked is not None and asked > limit:
        yield (
            f"{place}.max_length",
            f"{place}.max_length must be at most {limit}, the positions of the model, got {asked}",
        )


def _readable(experiment: Experiment, *, place: str = "data") -> Iterator[tuple[str, str]]:
    source = experiment.data
    for option, sentence in source.unreadable() if isinstance(source, Files) else ():
        yield f"{place}.{option}", f"{place}.{option}: {sentence}"
    directory = "" if isinstance(source, Files) else str(getattr(source, "dir", ""))
    if "://" in directory or "${" in directory:
        yield f"{place}.dir", f"{place}.dir must be a folder on this machine, got {directory}"


def _metrics(experiment: Experiment, *, place: str = "metrics") -> Iterator[tuple[str, str]]:
    kind = getattr(experiment.task, "kind", "auto")
    labels = getattr(experiment.task, "labels", None)
    seen: set[str] = set()
    for number, metric in enumerate(experiment.metrics or ()):
        path, name, positive = f"{place}.{number}", type_name(metric), getattr(metric, "positive", None)
        if kind != "auto" and not metric.applies(kind):
            yield path, unfit(metric, kind, fitting=experiment.task.metrics(None), place=place)
        if seen & set(metric.names()):
            yield path, f"{place}: {name} gives the score `{metric.names()[0]}`, which is given above already"
        if labels and positive is not None and positive not in labels:
            known = ", ".join(labels)
            yield path, f"{place}: {name}.positive is {positive!r}, which is not one of task.labels: {known}"
        seen |= set(metric.names())


def _select(experiment: Experiment) -> Iterator[tuple[str, str]]:
    select = experiment.train.select
    score = None if select.score in (LOSS, AUTO) else select.score
    metrics = tuple(experiment.task.metrics(None)) if experiment.metrics is None else experiment.metrics
    owners = {name: metric for metric in metrics for name in metric.names()}
    if experiment.metrics == ():
        yield "metrics", "metrics must name at least one; leave it out for those of the task"
    elif score is not None and score not in owners:
        yield "train.select.score", f"train.select.score must be one of {', '.join(owners)}, got {score!r}"
    elif score is None and metrics and headline(metrics) is None:
        yield "metrics", _counts_only(experiment, metrics)
    elif score is not None and select.direction == "auto" and is_count(owners[score]):
        yield (
            "train.select.score",
            f"train.select.direction must be max or min to select by {score}, which is a count of rows",
        )


def _counts_only(experiment: Experiment, metrics: Sequence[Metric]) -> str:
    named = " and ".join(map(type_name, metrics))
    usual = type_name(experiment.task.metrics(None)[0])
    return (
        f"metrics: {named} counts rows, which cannot choose a best checkpoint; add a metric that can, such as {usual}, "
        "or set train.select.score and train.select.direction"
    )


Check = Callable[[Experiment], Iterator[tuple[str, str]]]
_CHECKS: Mapping[Check, tuple[str, ...]] = {
    _readable: ("data",),
    _head: ("task", "model"),
    _length: ("task", "model"),
    _metrics: ("task", "metrics"),
    _select: ("task", "metrics", "train"),
}
"""What is asked, and of which sections."""
_CHECKS_OF_SEVERAL: Mapping[Check, tuple[str, ...]] = {
    find_unmatched: ("task", "data"),
    _head: ("task", "model"),
    _shared_heads: ("task", "model"),
    _own_scores: ("task", "metrics"),
    _known_epochs: ("task", "train"),
    _parts: ("task", "data", "model", "metrics", "train"),
}
"""The same where there are several tasks."""
