"""Lines of a config written for people, and the sections that every starter experiment has."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.registry import default_registry

if TYPE_CHECKING:
    from burnish.data.inspection.faults import BadRow
    from burnish.data.inspection.inspect import FileFacts

_PLAIN = re.compile(r"^[A-Za-z_./~][\w./~+-]*$")
_WORDS_OF_YAML = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "~"}
_COMMENT_AT = 34
_SPLITS = {"validation": "of train; the same rows for the same seed", "test": "never used to choose a checkpoint"}
_BROKEN_SHOWN = 3
_LAYOUT_MARK = "a"
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


@dataclass(frozen=True)
class DataFiles:
    """The data files of a starter, by split, and what was seen in the one of train."""

    facts: "FileFacts"
    files: Mapping[str, str]

    @property
    def layout(self) -> str | None:
        """The headerless TSV layout, of the two that are known by their column of nothing but `a`."""
        marks = [column.values == (_LAYOUT_MARK,) for column in self.facts.columns]
        if self.facts.has_header or not self.facts.options.train[0].split(".gz")[0].endswith(".tsv"):
            return None
        if len(marks) == 4 and marks[2]:
            return "id_label_alpha_text"
        return "id_alpha_label_text_a_text_b" if len(marks) == 5 and marks[1] else None


@dataclass(frozen=True)
class Starter:
    """An experiment in the making: its task, and what else is known of its data."""

    task: str
    lines: Sequence[str]
    """What follows `task:`."""
    notes: Sequence[str]
    names: Mapping[str, str] = field(default_factory=dict)
    """What columns are called that the file does not name; shown at the top."""
    target: str | None = None
    """The column to predict, of a table."""
    rivals: tuple[str, ...] = ()
    split_by: str | None = None
    group: str | None = None


def line(key: str, value: str, comment: str = "") -> str:
    """Write an option, with its comment where all comments begin."""
    written = f"{key}: {value}"
    return f"{written:<{_COMMENT_AT}} # {one_line(comment)}" if comment else written


def one_line(text: str) -> str:
    """Keep a comment a comment, whatever the data holds."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def scalar(text: str) -> str:
    """Write a string so that YAML reads the same string."""
    is_plain = _PLAIN.match(text) is not None and text.lower() not in _WORDS_OF_YAML
    return text if is_plain else json.dumps(text, ensure_ascii=False)


def scalars(texts: Sequence[str]) -> str:
    """Write one string, or a list of several."""
    return scalar(texts[0]) if len(texts) == 1 else f"[{', '.join(map(scalar, texts))}]"


def render(starter: Starter, data: DataFiles, target: Path, *, model: str | None = None) -> str:
    """Write the whole experiment; `model` is the pretrained one to start from, if it is not the usual one."""
    source = os.path.basename(data.files["train"].rstrip("/"))
    lines = [f"# A starter for {one_line(source)}, written by `burnish new` from {data.facts.num_rows:,} rows."]
    lines += [f"# Columns: {one_line(', '.join(starter.names.values()))}"] if starter.names else []
    lines += [f"# Look it over, then: burnish train {one_line(str(target))}", "", f"name: {scalar(target.stem)}", ""]
    lines += ["task:", *starter.lines, "", *_write_data(starter, data), "", *_write_defaults(starter.task, model=model)]
    return "\n".join(lines) + "\n"


def describe_broken(bad: "Sequence[BadRow]") -> list[str]:
    """Name some of the rows that training will refuse, and what to do."""
    if not bad:
        return []
    listed = "; ".join(map(str, bad[:_BROKEN_SHOWN])) + (" …" if len(bad) > _BROKEN_SHOWN else "")
    count = "1 row" if len(bad) == 1 else f"{len(bad):,} rows"
    return [f"training refuses {count}: {listed}. Fix the file, or uncomment bad_rows: skip to train without"]


def describe_dialect(facts: "FileFacts") -> list[str]:
    """Say what was found out about how the file is written, where that is not the usual way."""
    options, names = facts.options, ", ".join(column.name for column in facts.columns)
    notes = []
    if options.encoding != "utf-8":
        notes.append(f"the file is not UTF-8; read as {options.encoding}, its columns are {names}")
    if options.decimal != ".":
        notes.append("numbers have a decimal comma, as in 1.234,50")
    return notes


def _write_data(starter: Starter, data: DataFiles) -> Iterator[str]:
    """Name the files, how they are written, and what is cut off for validation and test."""
    facts, options = data.facts, data.facts.options
    yield from ["data:", "  type: files", *(line(f"  {split}", scalar(path)) for split, path in data.files.items())]
    if options.format != "auto":
        yield line("  format", options.format, "whatever the file is called")
    if options.delimiter:
        yield line("  delimiter", scalar(options.delimiter))
    if options.encoding != "utf-8":
        yield line("  encoding", options.encoding, "the file is not UTF-8; check its names and texts")
    if options.decimal != ".":
        yield line("  decimal", scalar(options.decimal), "numbers are written like 1.234,50")
    if starter.names and data.layout:
        yield line("  layout", data.layout, "a TSV file without header whose columns are these")
    elif not facts.has_header:
        yield line("  header", "false", "the first line is a row")
        names = (scalar(starter.names.get(column.name, column.name)) for column in facts.columns)
        yield f"  columns: [{', '.join(names)}]"
    if starter.split_by:
        inner = [line("    by", scalar(starter.split_by), "this column says which split")]
    else:
        inner = [line(f"    {name}", "10%", about) for name, about in _SPLITS.items() if name not in data.files]
    is_stated = bool(inner)
    if starter.group:
        about = "take the # away to keep all rows of one value in one split"
        inner.append(line("    # group", scalar(starter.group), about))
    if inner:
        yield from ["  split:" if is_stated else "  # split:", *inner]
    if not facts.bad:
        yield line("  bad_rows", "error", "or skip: train without rows that cannot be used")
        return
    count = f"{len(facts.bad):,} row{'s' * (len(facts.bad) != 1)}"
    yield line("  # bad_rows", "skip", f"uncomment to train without {count} that cannot be used, like {facts.bad[0]}")


def usual_model(task: str) -> str | None:
    """Return the pretrained model that a task starts from; None for tables."""
    model = default_registry().load("tasks", task).defaults.get("model")
    return model.get("name") if isinstance(model, Mapping) else None


def _write_defaults(task: str, *, model: str | None) -> list[str]:
    """Write what the task would take anyway, for people to change."""
    comments = dict(_COMMENTS)
    if model is not None:
        comments["name"] = f"on this machine; the usual one is {usual_model(task)}, from the hub"
    lines: list[str] = []
    for section, value in default_registry().load("tasks", task).defaults.items():
        options = value if isinstance(value, Mapping) else {}
        lines += ["", f"{section}:" if options else line(section, value, _COMMENTS.get(section, ""))]
        for key, default in options.items():
            each = model if model is not None and (section, key) == ("model", "name") else default
            written = scalar(str(each)) if each == model else str(each)
            lines.append(line(f"  {key}", written, comments.get(f"{key}: {each}") or comments.get(key, "")))
    return lines[1:]
