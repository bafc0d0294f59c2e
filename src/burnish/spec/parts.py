"""An experiment of several tasks as one ordinary experiment a task, and their profiles as one."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, NotRequired

from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import TypedDict  # pydantic takes that of `typing` from Python 3.12 on

from burnish.errors import ConfigError, Problem
from burnish.spec.experiment import Experiment, Select
from burnish.spec.protocols import Joint, Sets
from burnish.spec.values import Profile

ALONE = ""
"""The name of the only task there is."""
SEVERAL = "several"
"""The kind of a profile and of a head that stand for several."""
MEAN = "mean"
"""The score that several tasks have together: the mean of the first score of each."""
TASK_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
"""How the name of a task may be written; it is also that of a folder."""
_TASKS = "tasks"


class _Calibration(TypedDict):
    slope: float
    shift: NotRequired[float | list[float]]


class _Fitted(TypedDict, total=False):
    threshold: float
    calibration: _Calibration


@with_config(ConfigDict(strict=True))
class Statistics(TypedDict, total=False):
    """Numbers that a profile has of a column or a target; they are counted with, so text will not do."""

    missing: int
    distinct: int
    rare: int
    infinite: int
    unreadable: int
    lowest: float
    highest: float
    mean: float
    quarter: float
    median: float
    three_quarters: float


@with_config(ConfigDict(strict=True))
class _Facts(Statistics, total=False):
    """What more than one task puts into a profile; the rest is checked by the task that reads it."""

    label_counts: dict[str, float]
    label_weights: dict[str, float]
    notes: list[str]
    order: list[str]
    always_given: list[str]
    fitted: _Fitted


def divide_tasks(experiment: Experiment) -> dict[str, Experiment]:
    """Divide an experiment into one a task by name, all else being shared; an ordinary one is its own only part."""
    problems = [Problem(message) for _, message in find_unmatched(experiment)]
    if problems:
        raise ConfigError(problems)
    task, data = joint_task(experiment), several_sets(experiment)
    if task is None or data is None:
        return {ALONE: experiment}
    return {
        name: experiment.model_copy(
            update={
                "task": each,
                "data": data.sets[name],
                "metrics": task.scores.get(name),
                "train": experiment.train.model_copy(update={"select": _select(experiment, name)}),
            }
        )
        for name, each in task.tasks.items()
    }


def joint_task(experiment: Experiment) -> Joint | None:
    """The task of an experiment, if it is several at once."""
    return experiment.task if isinstance(experiment.task, Joint) else None


def several_sets(experiment: Experiment) -> Sets | None:
    """The data of an experiment, if it is several sets."""
    return experiment.data if isinstance(experiment.data, Sets) else None


def only_part(experiment: Experiment, *, why: str) -> Experiment:
    """Pass an ordinary experiment on; refuse one of several tasks where only one can be."""
    names = [name for name in divide_tasks(experiment) if name]
    if names:
        raise ConfigError(
            [Problem(f"task has several tasks, {', '.join(names)}, and {why}; take an experiment of one")]
        )
    return experiment


def find_unmatched(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """List what stands on one side only, tasks without rows and rows without a task: a path and a sentence each."""
    joint, several = joint_task(experiment), several_sets(experiment)
    tasks, sets = joint.tasks if joint else None, several.sets if several else None
    if tasks is not None and sets is None:
        yield "data", "data must be of type several to learn several tasks, with the rows of each in data.sets"
    if sets is not None and tasks is None:
        yield "data", "data has several sets, which need the task multi; name one source, or set task.type: multi"
    if tasks is None or sets is None:
        return
    for name in (each for each in tasks if each not in sets):
        yield f"task.tasks.{name}", f"task.tasks.{name} has no rows: data.sets has {', '.join(sets) or 'nothing'}"
    for name in (each for each in sets if each not in tasks):
        yield f"data.sets.{name}", f"data.sets.{name} belongs to no task: task.tasks has {', '.join(tasks)}"


def prefix(name: str, score: str) -> str:
    """Prefix a score, or a split, with the name of its task, like `rte/accuracy`."""
    return f"{name}/{score}" if name else score


def join_profiles(profiles: Mapping[str, Profile]) -> Profile:
    """Put the profiles of several tasks into one."""
    return Profile(SEVERAL, facts={_TASKS: {name: asdict(profile) for name, profile in profiles.items()}})


def take_profile(joined: Profile, name: str) -> Profile:
    """Take the profile of one task out of what `joined_profile` made; that of the only task is the whole."""
    return profile_from_json(joined.facts[_TASKS][name]) if name else joined


def read_profiles(written: object) -> dict[str, Mapping[str, Any]]:
    """Find the JSON values of each task's profile by name, whatever a file holds; those of the only task as a whole."""
    fields = written if isinstance(written, Mapping) else {}
    if fields.get("kind") != SEVERAL:
        return {ALONE: fields}
    facts = fields.get("facts")
    tasks = facts.get(_TASKS) if isinstance(facts, Mapping) else None
    found = tasks.items() if isinstance(tasks, Mapping) else ()
    return {name: each for name, each in found if TASK_NAME.fullmatch(name) and isinstance(each, Mapping)}


def profile_from_json(values: Mapping[str, Any]) -> Profile:
    """Read a profile back from its JSON values; raise ValueError for those of another shape."""
    json.dumps(values, allow_nan=False)  # refuses numbers that no profile is written with: nan and infinity
    profile = TypeAdapter(Profile).validate_python(values)
    fitted = TypeAdapter(_Facts).validate_python(profile.facts).get("fitted", {})
    shift = fitted.get("calibration", {}).get("shift", 0.0)
    if isinstance(shift, list) and len(shift) > len(profile.labels):
        raise ValueError(f"facts.fitted shifts {len(shift)} classes, and there are {len(profile.labels)}")
    return profile


def _select(experiment: Experiment, name: str) -> Select:
    """Find what a task selects by, if the experiment selects by a score of this very task."""
    select = experiment.train.select
    owner, _, score = (select.score or "").partition("/")
    return Select(score=score, direction=select.direction) if owner == name and score else Select()
