"""How a verb is declared: a function of its options that returns what to print, for people or as JSON.

To add one, write it with `@verb` in a file of this folder and name it in `main.py`:

    @verb("tables", short_help="Count tables.")
    def count_tables(asked: Asked, *, most: Annotated[int, option("--most N", "How many at most.")] = 5) -> Reply:
        \"\"\"Count the tables of an experiment.\"\"\"
        from burnish.commands.tables import count_tables as command

        found = command(asked.experiment, **asked.layers, most=most)
        return Reply(found, [f"{found.number:,} tables"])
"""

import inspect
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import typer

from burnish.cli.options import Json
from burnish.cli.tables import TextTable, show
from burnish.durable import refuse_address

Lines = Iterable[str | TextTable]
"""What people read; a generator, so that a program that asks for JSON does not wait for it."""

_NUMBERS = re.compile(r"\[\n([-+0-9.eE,\s]+)\n *\]")
"""A list of numbers as it is indented; a line end is never inside of a JSON string."""


@dataclass(frozen=True)
class Reply:
    """What a verb with `--json` answers."""

    document: object = None
    """For programs: any dataclass, mapping or sequence."""
    lines: Lines = ()
    code: int = 0
    notes: Sequence[str] = ()
    """Written to standard error for both."""
    events: Sequence[object] = ()
    """Instead of a document: lines of JSON after those of the run's events."""


@dataclass(frozen=True)
class Verb:
    """A verb as the parser takes it."""

    name: str
    call: Callable[..., int]
    short_help: str | None = None


def verb(name: str, *, short_help: str | None = None) -> Callable[[Callable[..., Reply | Lines | None]], Verb]:
    """Declare a verb: a parameter that is a dataclass is spread into its options, and a Reply brings `--json`."""

    def declare(function: Callable[..., Reply | Lines | None]) -> Verb:
        signature = inspect.signature(function, eval_str=True)
        own = signature.parameters
        groups = {each: own[each].annotation for each in own if is_dataclass(own[each].annotation)}
        options = [option for each in own.values() for option in _spread(each)]
        if signature.return_annotation is Reply and "is_json" not in own:
            options.append(inspect.Parameter("is_json", inspect.Parameter.KEYWORD_ONLY, annotation=Json, default=False))

        @wraps(function)
        def call(**given: Any) -> int:
            _refuse_addresses(given)
            is_json = given.get("is_json", False)
            values = {name: value for name, value in given.items() if name in own}
            for group, kind in groups.items():
                values[group] = kind(**{each.name: given[each.name] for each in fields(kind)})
            reply = function(**values)
            return print_reply(reply, is_json=is_json) if isinstance(reply, Reply) else print_lines(reply or ())

        call.__signature__ = signature.replace(parameters=options)  # type: ignore[attr-defined]  # inspect reads it
        call.__annotations__ = {each.name: each.annotation for each in options}
        return Verb(name, call, short_help)

    return declare


def add(app: typer.Typer, *parts: Verb | typer.Typer) -> typer.Typer:
    """Put verbs and groups of verbs into an app, in the order of its help page."""
    for part in parts:
        if isinstance(part, Verb):
            app.command(part.name, short_help=part.short_help)(part.call)
        else:
            app.add_typer(part, name=part.info.name)
    return app


def group(name: str, help: str, *verbs: Verb, **settings: Any) -> typer.Typer:
    """Make a group of verbs, like `burnish runs`; without a verb it prints its help."""
    app = typer.Typer(
        name=name, callback=_print_help, invoke_without_command=True, rich_markup_mode=None, help=help, **settings
    )
    return add(app, *verbs)


def print_reply(reply: Reply, *, is_json: bool) -> int:
    """Print a reply in the form that was asked for, and pass on its exit code."""
    for note in reply.notes:
        print(f"note: {note}", file=sys.stderr)
    if not is_json:
        print_lines(reply.lines)
    elif reply.events:
        for event in reply.events:
            print_document(event, indent=None)
    else:
        print_document(reply.document)
    return reply.code


def print_lines(lines: Lines) -> int:
    """Print lines and tables for people."""
    for line in lines:
        if isinstance(line, TextTable):
            show(line)
        else:
            print(line, flush=True)
    return 0


def print_document(value: object, *, indent: int | None = 2) -> None:
    """Print one JSON document to standard output; a list of numbers is one line, however many there are."""
    text = json.dumps(to_json(value), indent=indent, ensure_ascii=False, allow_nan=False)
    print(_NUMBERS.sub(lambda found: f"[{' '.join(found[1].split())}]", text), flush=True)


def to_json(value: object) -> object:
    """Turn dataclasses, mappings, sequences and paths into JSON values; nan and inf into strings."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    if isinstance(value, Path):
        return value.as_posix()
    if is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    return str(value)


def _spread(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """List the options of a group of them; the parser looks at their order, and passes them by name."""
    is_group = is_dataclass(parameter.annotation)
    found = inspect.signature(parameter.annotation).parameters.values() if is_group else (parameter,)
    return [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in found]


def _refuse_addresses(given: Mapping[str, Any]) -> None:
    """Take no address such as gs://… for a path on this machine."""
    for value in given.values():
        for path in value if isinstance(value, Sequence) else (value,):
            if isinstance(path, Path):
                refuse_address(path)


def _print_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
