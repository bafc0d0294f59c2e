"""How a verb is declared: a function of its options that returns what to print, for people or as JSON.

To add one, write it with `@verb` in a file of this folder, name it in `main.py`, and show its use in `examples.txt`:

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
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import typer
from typer.models import CommandInfo

from burnish.cli.options import LAUNCH, LOCAL, Json, Launching
from burnish.cli.tables import TextTable, show
from burnish.cli.wrapping import say
from burnish.launch.variables import mask_words
from burnish.storage.address import refuse_address

Lines = Iterable[str | TextTable]
"""What people read; a generator, so that a program that asks for JSON does not wait for it."""

_COMMAND = "burnish"
_EXAMPLES = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8").splitlines()
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


_LAUNCHED = (
    inspect.Parameter("launching", inspect.Parameter.KEYWORD_ONLY, annotation=Launching),
    inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context),
)

"""What a verb takes besides if it may run elsewhere."""


@dataclass(frozen=True)
class Verb:
    """A verb as the parser takes it."""

    name: str
    call: Callable[..., int]
    short_help: str | None = None


def verb(
    name: str, *, short_help: str | None = None, addresses: Sequence[str] = (), leaves: Mapping[str, str] | None = None
) -> Callable[[Callable[..., Reply | Lines | None]], Verb]:
    """Declare a verb: a parameter that is a dataclass is spread into its options, and a Reply brings `--json`.

    Paths may be addresses such as gs://… where `addresses` names the parameter, and for config files.
    One that says what it `leaves`, as its option and the place of that in a job's folder, also runs elsewhere (`--on`).
    """

    def declare(function: Callable[..., Reply | Lines | None]) -> Verb:
        signature = inspect.signature(function, eval_str=True)
        own = signature.parameters
        groups = {each: own[each].annotation for each in own if is_dataclass(own[each].annotation)}
        parameters = [*own.values(), *(_LAUNCHED if leaves is not None else ())]
        options = [option for each in parameters for option in _spread(each)]
        if signature.return_annotation is Reply and "is_json" not in own:
            options.append(inspect.Parameter("is_json", inspect.Parameter.KEYWORD_ONLY, annotation=Json, default=False))

        @wraps(function)
        def call(**given: Any) -> int:
            _refuse_addresses({name: value for name, value in given.items() if name not in (*addresses, "configs")})
            if leaves is not None and given["where"] != LOCAL:
                return _launch_elsewhere(given, leaves)
            if leaves is not None:
                _refuse_launch_options(given)
            values = {name: value for name, value in given.items() if name in own}
            spread = {
                name: kind(**{each.name: given[each.name] for each in fields(kind)}) for name, kind in groups.items()
            }
            reply = function(**values, **spread)
            if isinstance(reply, Reply):
                return print_reply(reply, is_json=given.get("is_json", False))
            return print_lines(reply or ())

        call.__signature__ = signature.replace(parameters=options)  # type: ignore[attr-defined]  # inspect reads it
        call.__annotations__ = {each.name: each.annotation for each in options}
        return Verb(name, call, short_help)

    return declare


def _launch_elsewhere(given: dict[str, Any], leaves: Mapping[str, str]) -> int:
    from burnish.cli.launch import launch  # with what it needs, for those who run elsewhere alone

    return launch(given, leaves=leaves)


def add(app: typer.Typer, *parts: Verb | typer.Typer) -> typer.Typer:
    """Put verbs and groups of verbs into an app, in the order of its help page."""
    above = () if app.info.name == _COMMAND else (app.info.name,)
    for part in parts:
        if isinstance(part, Verb):
            words = " ".join([_COMMAND, *above, part.name])
            found = [f"  {line}" for line in _EXAMPLES if f"{line} ".startswith(f"{words} ")]
            examples = "\n".join(["\b", "Examples:", *found]) if found else None
            app.command(part.name, short_help=part.short_help, epilog=examples)(part.call)
        else:
            app.add_typer(part, name=part.info.name)
    return app


def group(name: str, help: str, *verbs: Verb, **settings: Any) -> typer.Typer:
    """Make a group of verbs, like `burnish runs`; without a verb it prints its help."""
    app = typer.Typer(
        name=name, callback=_print_help, invoke_without_command=True, rich_markup_mode=None, help=help, **settings
    )
    return add(app, *verbs)


def without_others(app: typer.Typer, words: Sequence[str]) -> typer.Typer:
    """Keep the options of one verb; of the others only what a list of them shows, for to parse them takes time."""
    asked, kept = next((word for word in words if not word.startswith("-")), ""), copy(app)
    kept.registered_commands = [each if each.name == asked else _listed(each) for each in app.registered_commands]
    kept.registered_groups = [copy(each) for each in app.registered_groups]
    for each in kept.registered_groups:
        if each.typer_instance is not None and each.name != asked:
            each.typer_instance = copy(each.typer_instance)
            each.typer_instance.registered_commands = []
    return kept


def _listed(info: CommandInfo) -> CommandInfo:
    def nothing() -> None:
        pass

    kept, nothing.__doc__ = copy(info), info.callback.__doc__ if info.callback else None
    kept.callback = nothing
    return kept


def print_reply(reply: Reply, *, is_json: bool) -> int:
    """Print a reply in the form that was asked for, and pass on its exit code."""
    for note in reply.notes:
        say(f"note: {note}")
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
            say(line, stream=sys.stdout)
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


def _refuse_launch_options(given: Mapping[str, Any]) -> None:
    """Refuse what is for work elsewhere in a command that runs here: `--dry-run` would otherwise train."""
    flags = {"--dry-run": given["is_dry_run"], "--detach": given["is_detached"]}
    flags |= {f"-l {each}": True for each in given["launch_options"] or ()}
    flags |= {each: True for each in given.get("overrides") or () if each.startswith(f"{LAUNCH}.")}
    asked = [flag for flag, is_given in flags.items() if is_given]
    if asked:
        raise typer.BadParameter(
            f"{mask_words(asked)[0]} is for work elsewhere; add --on vertex. Options of the experiment are written "
            "KEY=VALUE, like optimizer.learning_rate=1e-4"
        )


def _refuse_addresses(given: Mapping[str, Any]) -> None:
    """Take no address such as gs://… for a path on this machine."""
    for value in given.values():
        for path in value if isinstance(value, Sequence) else (value,):
            if isinstance(path, Path):
                refuse_address(path)


def _print_help(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
