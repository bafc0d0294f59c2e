"""What every starter experiment has: where it comes from, how its data is read and divided, and its task's defaults."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.commands.yaml_lines import line, one_line, scalar
from burnish.registry import default_registry

if TYPE_CHECKING:
    from burnish.data.inspect import FileFacts

_SPLITS = {"validation": "of train; the same rows for the same seed", "test": "never used to choose a checkpoint"}
_COMMENTS = {
    "model": "or linear, deep, wide_deep, gbdt",
    "name": "a hub name, a local folder, or package:module/folder",
    "length": "or steps, examples, minutes",
    "batch": "examples in one step",
    "select": "the score that chooses the best checkpoint; loss is log_loss for classes",
    "patience": "evaluations without a better score, then stop",
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
    options = facts.options
    lines += [line("  format", options.format, "whatever the file is called")] if options.format != "auto" else []
    lines += [line("  delimiter", scalar(options.delimiter))] if options.delimiter else []
    if not facts.has_header:
        names = ", ".join(scalar(column.name) for column in facts.columns)
        lines += [line("  header", "false", "the first line is a row"), f"  columns: [{names}]"]
    missing = [name for name in ("validation", "test") if name not in files]
    if missing:
        lines.append("  split:")
        lines += [line(f"    {name}", "10%", _SPLITS[name]) for name in missing]
    lines.append(line("  bad_rows", "error", "or skip: go on without rows that cannot be used"))
    return [*lines, ""]


def default_lines(task: str) -> list[str]:
    """Write what the task would take anyway, for people to change."""
    lines: list[str] = []
    for section, value in default_registry().load("tasks", task).defaults.items():
        options = value if isinstance(value, Mapping) else {}
        lines += ["", f"{section}:" if options else line(section, value, _COMMENTS.get(section, ""))]
        lines += [line(f"  {key}", str(each), _COMMENTS.get(key, "")) for key, each in options.items()]
    return lines[1:]
