"""Finds what an experiment names and is not there, before anything heavy is loaded: files, columns, models, devices."""

import os
from collections.abc import Iterator

from burnish.config import Resolved
from burnish.config.nodes import write_path
from burnish.config.render import document, leaves
from burnish.data.files import Files
from burnish.data.sources.address import PACKAGE, is_url
from burnish.engine.device import explain_absent, is_surely_absent
from burnish.errors import Problem
from burnish.spec.experiment import Experiment
from burnish.spec.parts import divide_tasks, find_unmatched


def absent_inputs(resolved: Resolved) -> list[Problem]:
    """List all of it, each with where it came from."""
    found = [*_data(resolved), *_model(resolved.experiment), *_device(resolved.experiment)]
    return [Problem(message, resolved.origin(path).lines()) for path, message in found]


def _data(resolved: Resolved) -> Iterator[tuple[str, str]]:
    if any(find_unmatched(resolved.experiment)):
        return
    for name, part in divide_tasks(resolved.experiment).items():
        place, task = (f"data.sets.{name}", f"task.tasks.{name}") if name else ("data", "task")
        if isinstance(part.data, Files):
            yield from _files(resolved, part, place=place, task=task)
        elif _is_absent(getattr(part.data, "dir", None)):
            yield f"{place}.dir", f"{place}.dir: there is no folder {getattr(part.data, 'dir', None)}"


def _files(resolved: Resolved, part: Experiment, *, place: str, task: str) -> Iterator[tuple[str, str]]:
    from burnish.data.inspection.header import find_absent  # not for experiments without files to wait for

    assert isinstance(part.data, Files)
    for path, sentence in find_absent(part.data, part.task.training_columns, place=place, task=task):
        yield _option_of(resolved, sentence, task) if path == task else path, sentence


def _option_of(resolved: Resolved, sentence: str, task: str) -> str:
    """Find the option of a task that names the column which a sentence says is missing; else the task as a whole."""
    written = ((write_path(path), value) for path, value in leaves(document(resolved.experiment)))
    options = [(path, value if isinstance(value, list) else [value]) for path, value in written]
    named = (path for path, names in options if any(f"column `{each}`" in sentence for each in names))
    return next((path for path in named if path.startswith(f"{task}.")), task)


def _is_absent(folder: object) -> bool:
    if not isinstance(folder, str) or is_url(folder) or folder.startswith(PACKAGE):
        return False
    return not os.path.isdir(os.path.expanduser(folder))


def _model(experiment: Experiment) -> Iterator[tuple[str, str]]:
    for option, sentence in experiment.model.absent():
        yield f"model.{option}", sentence


def _device(experiment: Experiment) -> Iterator[tuple[str, str]]:
    if is_surely_absent(experiment.runtime.device):
        yield "runtime.device", explain_absent(experiment.runtime.device)
