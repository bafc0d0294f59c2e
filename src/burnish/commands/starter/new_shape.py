"""Writes a commented starter experiment for a file of tags, questions, choices or plain text."""

from pathlib import Path
from typing import TYPE_CHECKING

from burnish.commands.starter.starter import data_lines, default_lines, head_lines
from burnish.commands.starter.yaml_lines import line, scalar

if TYPE_CHECKING:
    from burnish.data.inspection.inspect import FileFacts
    from burnish.data.readers.recognise import TaskOption, TaskShape

_CALLED = {
    "token_classification": "a tag for every word",
    "question_answering": "answers found in texts",
    "multiple_choice": "one of several choices",
    "masked_lm": "hidden words of plain text; causal_lm continues it instead",
}


def shape_starter(
    shape: "TaskShape", facts: "FileFacts", files: dict[str, str], target: Path
) -> tuple[str, tuple[str, ...]]:
    """Give the text of the starter, and what to look at in it."""
    called = _CALLED[shape.task]
    task = ["task:", line("  type", shape.task, called), *(_option(each) for each in shape.options)]
    task += [line("  max_length", str(shape.max_length), "tokens; what is longer is cut or read in parts"), ""]
    parts = [head_lines(facts, files["train"], target), task, data_lines(facts, files), default_lines(shape.task)]
    columns = ", ".join(f"{each.name} is {_listed(each)}" for each in shape.options)
    note = f"this is {shape.task}: {called}; {columns}"
    return "\n".join(each for part in parts for each in part) + "\n", (note,)


def _option(option: "TaskOption") -> str:
    names = [scalar(value) for value in option.values]
    return line(f"  {option.name}", names[0] if len(names) == 1 else f"[{', '.join(names)}]", option.comment)


def _listed(option: "TaskOption") -> str:
    return " ".join(f"`{value}`" for value in option.values)
