"""Checks that need several parts of an experiment at once, before anything heavy is loaded."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from burnish.config import Origin, Resolved
from burnish.config.nodes import Branch, Leaf, Node, write_path
from burnish.config.render import document, leaves
from burnish.engine.device import explain_absent, is_surely_absent
from burnish.errors import Problem
from burnish.registry import default_registry
from burnish.run.selection import (
    AUTO,
    LOSS,
    falling,
    headline,
    is_count,
    loss_scores,
    score_names,
    type_name,
    unfit,
    why_no_loss,
)
from burnish.spec.component import Component
from burnish.spec.experiment import Experiment
from burnish.spec.parts import MEAN, divide_tasks, find_unmatched, joint_task, prefix, several_sets
from burnish.spec.protocols import Task
from burnish.tasks.options import explain_unknown

_TABULAR = "tabular"
"""The head of models that read tables."""


def problems(resolved: Resolved, *, missing: Collection[str] = ()) -> list[Problem]:
    """Find what does not fit together, each with where it came from; sections that are missing are not asked."""
    asked = _CHECKS_OF_SEVERAL if _has_several(resolved.experiment, missing) else _CHECKS
    checks = [check for check, needed in asked.items() if not set(needed) & set(missing)]
    found = [each for check in checks for each in check(resolved.experiment)]
    return [Problem(message, resolved.origin(path).lines()) for path, message in found]


def absent_inputs(resolved: Resolved) -> list[Problem]:
    """Find what an experiment names and is not there: files, columns, models, devices; each with where it came from."""
    found = [*_absent_data(resolved), *_absent_model(resolved.experiment), *_absent_device(resolved.experiment)]
    return [Problem(message, resolved.origin(path).lines()) for path, message in found]


def idle_options(resolved: Resolved) -> list[Problem]:
    """Find options that the user set and that the others leave without effect, each with where it came from."""
    found: dict[str, Problem] = {}
    for path, origin in _set_options(resolved.tree):
        reason = explain_unused(resolved.experiment, path)
        if reason is not None:
            found.setdefault(path, Problem(f"{path} has no effect: {reason}", origin.lines()))
    return list(found.values())


def unused_options(component: object, place: str = "") -> Iterator[tuple[str, str]]:
    """List what the components of an experiment say they do not read: paths of options or sections, and why."""
    parts: Iterable[tuple[object, object]] = ()
    if isinstance(component, Component):
        yield from component.unused_options(place)
        parts = [(name, getattr(component, name)) for name in type(component).model_fields]
    elif isinstance(component, Mapping):
        parts = component.items()
    elif isinstance(component, tuple):
        parts = enumerate(component)
    for name, part in parts:
        yield from unused_options(part, f"{place}.{name}".removeprefix("."))


def explain_unused(experiment: Experiment, path: str) -> str | None:
    """Say why an option has no effect next to the others; None for one that is read."""
    return next((why for unused, why in unused_options(experiment) if _is_within(path, unused)), None)


def _set_options(node: Node, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str, Origin]]:
    """List the options that the user set, with where; the type of a section stands for the section."""
    if isinstance(node, Branch):
        for key, each in node.nodes.items():
            yield from _set_options(each, path if key == "type" and isinstance(each, Leaf) else (*path, key))
        return
    is_null = isinstance(node, Leaf) and node.value is None
    if not (is_null or node.origin.is_default or node.origin.is_ready_made):
        yield write_path(path), node.origin


def _is_within(path: str, section: str) -> bool:
    return path == section or path.startswith((f"{section}.", f"{section}["))


def _absent_data(resolved: Resolved) -> Iterator[tuple[str, str]]:
    if any(find_unmatched(resolved.experiment)):
        return
    for name, part in divide_tasks(resolved.experiment).items():
        place, task = (f"data.sets.{name}", f"task.tasks.{name}") if name else ("data", "task")
        for path, sentence in part.data.absent(part.task.training_columns, place=place, task=task):
            yield _option_of(resolved, sentence, task) if path == task else path, sentence


def _option_of(resolved: Resolved, sentence: str, task: str) -> str:
    """Find the option of a task that names the column which a sentence says is missing; else the task as a whole."""
    written = ((write_path(path), value) for path, value in leaves(document(resolved.experiment)))
    options = [(path, value if isinstance(value, list) else [value]) for path, value in written]
    named = (path for path, names in options if any(f"column `{each}`" in sentence for each in names))
    return next((path for path in named if path.startswith(f"{task}.")), task)


def _absent_model(experiment: Experiment) -> Iterator[tuple[str, str]]:
    for option, sentence in experiment.model.absent():
        yield f"model.{option}", sentence


def _absent_device(experiment: Experiment) -> Iterator[tuple[str, str]]:
    if is_surely_absent(experiment.runtime.device):
        yield "runtime.device", explain_absent(experiment.runtime.device)


def _has_several(experiment: Experiment, missing: Collection[str]) -> bool:
    """Tell whether there are several tasks, or sets for several."""
    has_tasks = "task" not in missing and joint_task(experiment) is not None
    return has_tasks or ("data" not in missing and several_sets(experiment) is not None)


def _shared_heads(experiment: Experiment) -> Iterator[tuple[str, str]]:
    joint = joint_task(experiment)
    for name, task in joint.tasks.items() if joint else ():
        yield from _shared_head(experiment, name, task)


def _own_scores(experiment: Experiment) -> Iterator[tuple[str, str]]:
    if experiment.metrics is not None and joint_task(experiment):
        yield "metrics", "metrics: each of several tasks has its own scores; name them in task.scores, task by task"


def _known_epochs(experiment: Experiment) -> Iterator[tuple[str, str]]:
    task, length = joint_task(experiment), experiment.train.length
    by_clock = length != "auto" and length.unit == "minutes"
    if by_clock and task and task.power(1, num_epochs=2) != task.power(1, num_epochs=3):
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
        yield from _class_options(part, place=f"task.tasks.{name}")
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
    own = [prefix(name, each) for name, part in parts.items() for each in score_names(part)]
    known = [MEAN, *own, *loss_scores(experiment)]
    if score is not None and score not in known:
        why = why_no_loss(experiment) if score == LOSS else ""
        yield "train.select.score", f"train.select.score must be one of {', '.join(known)}, got {score!r}{why}"
    elif score == LOSS and experiment.train.select.direction == "max":
        yield "train.select.direction", "train.select.direction must be min to select by loss, a score that falls"
    elif score == MEAN and experiment.train.select.direction == "min":
        yield "train.select.direction", "train.select.direction must be max to select by mean, a score that rises"
    for part in parts.values():
        if part.train.select.score is not None and score in known:
            yield from _select(part)


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
    for option, sentence in experiment.data.unreadable():
        yield f"{place}.{option}", f"{place}.{option}: {sentence}"


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


def _class_options(experiment: Experiment, *, place: str = "task") -> Iterator[tuple[str, str]]:
    labels = getattr(experiment.task, "labels", None)
    if not labels:
        return
    named = {label: label for label in getattr(experiment.task, "label_names", {})}
    for option, classes in (("label_names", named), ("label_map", getattr(experiment.task, "label_map", {}))):
        for key, label in classes.items():
            if label not in labels:
                path = write_path((*place.split("."), option, key))
                yield path, f"{path}: {explain_unknown(label, labels)}"


def _loss(experiment: Experiment) -> Iterator[tuple[str, str]]:
    if experiment.train.loss is not None and experiment.model.is_grown:
        yield "train.loss", "train.loss: trees bring their loss with them; take a network, like model: tab_m"


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
        named = " and ".join(map(type_name, metrics))
        usual = type_name(experiment.task.metrics(None)[0])
        yield (
            "metrics",
            f"metrics: {named} counts rows, which cannot choose a best checkpoint; add a metric that can, such as "
            f"{usual}, or set train.select.score and train.select.direction",
        )
    elif score is not None and select.direction == "auto" and is_count(owners[score]):
        yield (
            "train.select.score",
            f"train.select.direction must be max or min to select by {score}, which is a count of rows",
        )


Check = Callable[[Experiment], Iterator[tuple[str, str]]]
_CHECKS: Mapping[Check, tuple[str, ...]] = {
    _readable: ("data",),
    _head: ("task", "model"),
    _length: ("task", "model"),
    _metrics: ("task", "metrics"),
    _class_options: ("task",),
    _loss: ("model", "train"),
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
