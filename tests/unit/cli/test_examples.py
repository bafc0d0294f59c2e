"""Help pages show how each verb is called, and shells complete what is typed."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from burnish.cli import verb
from burnish.cli.main import app

EXAMPLES = Path(verb.__file__).with_name("examples.txt").read_text().splitlines()


def find_verb(words: list[str]) -> tuple[Any, list[str], list[str]]:
    """Follow words to a verb: the verb, the words that name it, and those that are left for it."""
    command: Any = typer.main.get_command(app)
    named: list[str] = []
    while words and words[0] in getattr(command, "commands", {}):
        command, named, words = command.commands[words[0]], [*named, words[0]], words[1:]
    return command, named, words


def every_verb(group: Any, *above: str) -> Iterator[str]:
    for name, command in group.commands.items():
        yield from every_verb(command, *above, name) if hasattr(command, "commands") else (" ".join([*above, name]),)


@pytest.mark.parametrize("line", EXAMPLES)
def test_an_example_is_a_command_that_the_parser_takes(line: str) -> None:
    command, named, words = find_verb(shlex.split(line)[1:])
    assert command.make_context(" ".join(named), words) is not None
    assert not hasattr(command, "commands")


def test_every_verb_has_an_example_on_its_page() -> None:
    for path in every_verb(typer.main.get_command(app)):
        command, _, _ = find_verb(path.split())
        assert f"\n  burnish {path}" in (command.epilog or ""), path


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("burnish tra", "train"), ("burnish runs com", "compare"), ("burnish train demo/tax", "demo/taxi")],
)
def test_a_shell_completes_verbs_and_experiments(typed: str, offered: str) -> None:
    number = len(typed.split()) - 1
    asked = {"_BURNISH_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(number)}
    program = "import sys; sys.argv = ['burnish']; from burnish.cli.main import main; main()"
    answer = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **asked}, capture_output=True, text=True
    )
    assert answer.stdout.split() == [offered], answer.stderr
