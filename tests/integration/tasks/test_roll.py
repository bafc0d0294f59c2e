"""Every task that Burnish registers sits the exam: a new one cannot be forgotten."""

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from burnish.catalog import CATALOG
from tests.integration.tasks.exam import TaskExam

HERE = Path(__file__).parent
EXAM = [name for name in dir(TaskExam) if name.startswith("test_")]


def sitting() -> dict[type[TaskExam], str]:
    """Give every exam that pytest collects below this folder, and the task that it is of."""
    for path in sorted(HERE.rglob("test_*.py")):
        importlib.import_module(".".join(("tests.integration.tasks", *path.relative_to(HERE).with_suffix("").parts)))
    collected = (each for each in _below(TaskExam) if each.__name__.startswith("Test"))
    return {each: yaml.safe_load(each.sections.format(root="."))["task"]["type"] for each in collected}


def _below(exam: type[TaskExam]) -> Iterator[type[TaskExam]]:
    for each in exam.__subclasses__():
        yield each
        yield from _below(each)


@pytest.mark.parametrize("task", CATALOG["tasks"])
def test_every_registered_task_sits_the_exam(task: str) -> None:
    assert task in sitting().values(), f"write a class that inherits {TaskExam.__name__}, with an experiment of {task}"


def test_no_exam_leaves_out_a_question() -> None:
    assert len(EXAM) >= 9
    missing = [(exam.__name__, name) for exam in sitting() for name in EXAM if not callable(getattr(exam, name, None))]
    assert missing == []
