"""What every starter experiment has, and the starter of a file of tags, questions, choices or plain text."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.commands.starter.yaml_lines import line, one_line, scalar
from burnish.registry import default_registry

if TYPE_CHECKING:
    from burnish.data.inspection.faults import BadRow
    from burnish.data.inspection.inspect import FileFacts
    from burnish.data.inspection.propose import TaskOption, TaskShape

_SPLITS = {"validation": "of train; the same rows for the same seed", "test": "never used to choose a checkpoint"}
_BROKEN_SHOWN = 3
_COMMENTS = {
    "model": "or linear, deep, wide_deep, gbdt",
    "name": "a hub name, a local folder, or package:module/folder",
    "learning_rate: auto": "by the model: 2e-5 like BERT-base, 1e-4 like MiniLM, 2e-3 for tables; or a number",
    "length: auto": "3 epochs; more, up to 30, where that is less than 200 steps",
    "length": "or steps, examples, minutes",
    "batch": "examples in one step",
    "select: auto": "what chooses the best checkpoint: the first score, or log_loss where validation rows are few",
    "select": "the score that chooses the best checkpoint; loss is log_loss for classes",
    "patience": "evaluations without a better score, then stop",
}
_CALLED = {
    "token_classification": "a tag for every word",
    "question_answering": "answers found in texts",
    "multiple_choice": "one of several choices",
    "masked_lm": "hidden words of plain text; causal_lm continues it instead",
}


def head_lines(facts: "FileFacts", source: str, target: Path) -> list[str]:
    """Say what the starter was made from, and how to go on."""
    return [
        f"# A starter for {one_line(os.path.basename(source))}, written by `burnish new` from {facts.num_rows:,} rows.",
        f"# Look it over, then: burnish train {one_line(str(target))}",
        "",
        f"name: {scalar(target.stem)}",
        "",
    ]


def data_lines(facts: "FileFacts", files: dict[str, str]) -> list[str]:
    """Name the files, how they are written, and what is cut off for validation and test."""
    lines = ["data:", "  type: files", *(line(f"  {split}", scalar(path)) for split, path in files.items())]
    kind = facts.options.format
    lines += [line("  format", kind, "whatever the file is called")] if kind != "auto" else []
    lines += dialect_lines(facts)
    if not facts.has_header:
        names = ", ".join(scalar(column.name) for column in facts.columns)
        lines += [line("  header", "false", "the first line is a row"), f"  columns: [{names}]"]
    missing = [name for name in ("validation", "test") if name not in files]
    if missing:
        lines.append("  split:")
        lines += [line(f"    {name}", "10%", _SPLITS[name]) for name in missing]
    lines.append(bad_rows_line(facts))
    return [*lines, ""]


def dialect_lines(facts: "FileFacts") -> list[str]:
    """Write how the file is written, where that is not the usual way."""
    options = facts.options
    lines = [line("  delimiter", scalar(options.delimiter))] if options.delimiter else []
    if options.encoding != "utf-8":
        lines.append(line("  encoding", options.encoding, "the file is not UTF-8; check its names and texts"))
    if options.decimal != ".":
        lines.append(line("  decimal", scalar(options.decimal), "numbers are written like 1.234,50"))
    return lines


def bad_rows_line(facts: "FileFacts") -> str:
    """Say what becomes of rows that cannot be used; those that are there already may be skipped."""
    if not facts.bad:
        return line("  bad_rows", "error", "or skip: train without rows that cannot be used")
    count = f"{len(facts.bad):,} row{'s' * (len(facts.bad) != 1)}"
    return line("  # bad_rows", "skip", f"uncomment to train without {count} that cannot be used, like {facts.bad[0]}")


def broken_notes(bad: "Sequence[BadRow]") -> list[str]:
    """Name some of the rows that training will refuse, and what to do."""
    if not bad:
        return []
    listed = "; ".join(map(str, bad[:_BROKEN_SHOWN])) + (" …" if len(bad) > _BROKEN_SHOWN else "")
    count = "1 row" if len(bad) == 1 else f"{len(bad):,} rows"
    return [f"training refuses {count}: {listed}. Fix the file, or uncomment bad_rows: skip to train without"]


def dialect_notes(facts: "FileFacts") -> list[str]:
    """Say what was found out about how the file is written, where that is not the usual way."""
    options, names = facts.options, ", ".join(column.name for column in facts.columns)
    notes = []
    if options.encoding != "utf-8":
        notes.append(f"the file is not UTF-8; read as {options.encoding}, its columns are {names}")
    if options.decimal != ".":
        notes.append("numbers have a decimal comma, as in 1.234,50")
    return notes


def default_lines(task: str) -> list[str]:
    """Write what the task would take anyway, for people to change."""
    lines: list[str] = []
    for section, value in default_registry().load("tasks", task).defaults.items():
        options = value if isinstance(value, Mapping) else {}
        lines += ["", f"{section}:" if options else line(section, value, _COMMENTS.get(section, ""))]
        lines += [line(f"  {key}", str(each), _comment(key, each)) for key, each in options.items()]
    return lines[1:]


def _comment(key: str, value: object) -> str:
    return _COMMENTS.get(f"{key}: {value}") or _COMMENTS.get(key, "")


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
