"""Writes the reference of options, commands and protocols: `python -m bench.reference`; a test compares.

What the hand-written pages show in tables of their own is linked, not repeated.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer.main

from burnish.cli.main import app
from burnish.config.shape import FieldShape, describe_fields
from burnish.registry import default_registry
from burnish.spec import events, launcher, news, own_loss, protocols, row_format, search
from burnish.spec.component import Component
from burnish.spec.experiment import Experiment
from burnish.testing import exams

PAGES = Path(__file__).parents[1] / "docs" / "reference"
FOOT = "\nWritten from the source by `python -m bench.reference`."
_WORDS: Mapping[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "yes or no",
    Path: "path",
    Any: "anything",
}
HEAD_OF_OPTIONS = """\
# All options

Every component that an experiment can name, with each option, what it takes and its default. The pages of tasks,
models, data and metrics say how they are used; `burnish config schema` gives the same to editors.

## Sections of an experiment"""
HEAD_OF_COMMANDS = """\
# All commands

Every command with its words, options and examples. Those with a link have their options on the page of the
[command line](cli.md)."""
HEAD_OF_PROTOCOLS = """\
# Protocols

What a component of your own has to offer, by kind. It is found by its address, `my_module:MyTask`, or by the name of an
entry point; [write your own task or model](../how-to/write-your-own-task.md) shows both. A class with these members
need not derive from anything. Those marked *optional* have an answer that suits most."""
SECTIONS = {
    "tasks": "task",
    "data": "data",
    "models": "model",
    "truncations": "task.truncation",
    "optimizers": "optimizer",
    "schedules": "schedule",
    "metrics": "metrics",
    "trackers": "track",
    "notifiers": "notify",
    "searchers": "tune.searcher",
    "launchers": "launch",
}
"""Where an experiment names a component of each kind."""
PROTOCOLS = (
    *("protocols.Task", "protocols.Encoder", "protocols.DataSource", "protocols.DataRequest", "protocols.Architecture"),
    *("protocols.Assets", "protocols.Metric", "protocols.Truncation", "protocols.Optimizer", "protocols.Schedule"),
    *(
        "protocols.Tracker",
        "events.Watcher",
        "own_loss.OwnLoss",
        "launcher.Launcher",
        "news.Notifier",
        "search.Searcher",
    ),
    "row_format.RowFormat",
)
MODULES = {
    each.__name__.rpartition(".")[2]: each for each in (protocols, events, own_loss, launcher, news, search, row_format)
}


def write_options() -> str:
    """Write every component with every option."""
    registry = default_registry()
    lines = [HEAD_OF_OPTIONS]
    for name, shape in describe_fields(Experiment).items():
        if shape.component is not None:
            lines += ["", f"### `{name}`", "", _first_line(shape.component), "", *_table(shape.component)]
    for kind, section in SECTIONS.items():
        lines += ["", f"## {kind.capitalize()}", "", f"Named by `{section}`."]
        for listing in registry.names(kind):
            found = registry.load(kind, listing.name)
            also = f" (also `{'`, `'.join(listing.aliases)}`)" if listing.aliases else ""
            lines += ["", f"### `{section}: {listing.name}`{also}", "", _first_line(found), *_scores(kind, found)]
            lines += ["", *_table(found)] if describe_fields(found) else []
    return "\n".join([*lines, FOOT, ""])


def _first_line(cls: Any) -> str:
    return inspect.cleandoc(cls.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def _scores(kind: str, cls: type[Component]) -> list[str]:
    if kind != "metrics":
        return []
    kinds = ", ".join(getattr(cls, "kinds", ()))
    names = ", ".join(f"`{name}`" for name in getattr(cls, "gives", ()))
    said = [
        f"Gives {names}." if names else "",
        f"For {kinds}." if kinds else "",
        f"Better is {found}." if (found := getattr(cls, "better", "")) else "",
    ]
    return ["", " ".join(filter(None, said))]


def _table(cls: type[Component]) -> Iterator[str]:
    said = _said_of_fields(cls)
    yield from ["| option | takes | default | meaning |", "| --- | --- | --- | --- |"]
    for name, shape in describe_fields(cls).items():
        default = _default(shape)
        yield f"| `{name}` | {_takes(shape)} | {default} | {said.get(name, '')} |"
        if shape.component is not None and cls is not Experiment:
            inner = _said_of_fields(shape.component)
            for each, part in describe_fields(shape.component).items():
                value = _default(part)
                yield f"| `{name}.{each}` | {_takes(part)} | {value} | {inner.get(each, '')} |"


def _takes(shape: FieldShape) -> str:
    if shape.slot is not None:
        return f"one of the {shape.slot.kind}" + (", or a list" if shape.is_many else "")
    if shape.component is not None:
        return "a section"
    return _write_type(shape.info.annotation)


def _write_type(form: Any) -> str:
    """Write a type in words that need no Python."""
    origin, inside = get_origin(form), get_args(form)
    if origin is Annotated:
        return _write_type(inside[0])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in inside)
    if origin in (Union, UnionType):
        return " or ".join(_write_type(each) for each in inside if each is not NoneType)
    if inside and issubclass(origin, Mapping):
        return f"{_write_type(inside[1])} by name"
    if inside:
        return f"list of {_write_type(inside[0])}"
    return _WORDS.get(form, getattr(form, "__name__", str(form)).lower())


def _default(shape: FieldShape) -> str:
    if shape.info.is_required():
        return "*required*"
    value = _plain(shape.info.get_default(call_default_factory=True))
    return f"`{value}`" if value not in ("None", "()", "{}") else ""


def _plain(value: object) -> str:
    if isinstance(value, Component):
        options = {name: getattr(value, name) for name in type(value).model_fields if name in value.model_fields_set}
        return (
            str(value.shorthand and getattr(value, value.shorthand))
            if value.shorthand
            else str(options or "its defaults")
        )
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _said_of_fields(cls: type) -> dict[str, str]:
    """Read the lines below fields, those of base classes too."""
    said: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        if each.__module__.startswith("burnish.") and each is not Component:
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
            body = tree.body if isinstance(tree, ast.ClassDef) else []
            for field, below in pairwise(body):
                is_said = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_said:
                    said[field.target.id] = " ".join(str(below.value.value).split()).replace("|", "\\|")
    return said


def write_commands() -> str:
    """Write every verb with its options, but for those that the page of the command line has tables of."""
    told = set(re.findall(r"^## ([\w ]+)$", (PAGES / "cli.md").read_text(encoding="utf-8"), re.MULTILINE))
    lines = [HEAD_OF_COMMANDS]
    for path, command in _verbs(typer.main.get_command(app), ()):
        usage = " ".join(
            ["burnish", path, *(f"[{param.metavar}]" for param in command.params if not param.opts[0].startswith("-"))]
        )
        lines += ["", f"## {path}", "", inspect.cleandoc(command.help or ""), "", f"`{usage}`"]
        if path in told:
            lines += ["", f"Its options: [{path}](cli.md#{path.replace(' ', '-')})."]
        else:
            lines += ["", "| option | meaning | default |", "| --- | --- | --- |"]
            lines += [_option_row(param) for param in command.params]
        lines += ["", "```text", *(line.strip() for line in command.epilog.splitlines()[2:]), "```"]
    return "\n".join([*lines, FOOT, ""])


def _verbs(group: Any, above: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _verbs(command, (*above, name))
        else:
            yield " ".join([*above, name]), command


def _option_row(param: Any) -> str:
    is_word = not param.opts[0].startswith("-")
    name = param.metavar if is_word else " ".join([", ".join(param.opts), param.metavar or ""]).strip()
    default = "" if param.default in (None, False, ...) or param.required else f"`{param.default}`"
    return f"| `{name}` | {(getattr(param, 'help', '') or '').replace('|', chr(92) + '|')} | {default} |"


def write_protocols() -> str:
    """Write what a component of one's own has to have, and the exam that it can sit."""
    lines = [HEAD_OF_PROTOCOLS]
    for path in PROTOCOLS:
        module, name = path.split(".")
        cls = getattr(MODULES[module], name)
        lines += [
            "",
            f"## `{cls.__module__}.{name}`",
            "",
            _first_line(cls),
            "",
            "| member | what it is |",
            "| --- | --- |",
            *_members(cls),
        ]
    lines += [
        "",
        "## Exams",
        "",
        "`burnish.testing.exams` has test classes to derive from: each checks what the rest of the system relies on.",
        "",
    ]
    lines += ["| exam | what it checks |", "| --- | --- |"]
    lines += [
        f"| `{name}` | {_first_line(found)} |"
        for name, found in vars(exams).items()
        if inspect.isclass(found) and found.__module__ == exams.__name__ and not name.startswith("_") and found.__doc__
    ]
    return "\n".join([*lines, FOOT, ""])


def _members(cls: type) -> Iterator[str]:
    left_open: frozenset[str] = getattr(cls, "__abstractmethods__", frozenset())
    has_answers = issubclass(cls, Component) or bool(left_open)
    said = _said_of_fields(cls)
    for name, annotation in getattr(cls, "__annotations__", {}).items():
        if not name.startswith("_"):
            yield f"| `{name}: {str(annotation).replace('typing.', '').replace('|', 'or')}` | {said.get(name, '')} |"
    for name, found in vars(cls).items():
        function = found.fget if isinstance(found, property) else found
        if inspect.isfunction(function) and not name.startswith("_"):
            names = [each for each in inspect.signature(function).parameters if each != "self"]
            optional = " *Optional.*" if has_answers and name not in left_open else ""
            yield f"| `{name}({', '.join(names)})` | {_first_line(function)}{optional} |"


WRITERS = {"options": write_options, "commands": write_commands, "protocols": write_protocols}


def main() -> None:
    """Write all pages."""
    for name, write in WRITERS.items():
        (PAGES / f"{name}.md").write_text(write(), encoding="utf-8")


if __name__ == "__main__":
    main()
