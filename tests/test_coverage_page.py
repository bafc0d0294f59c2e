"""The page of coverage is what its table says, and all that the table names is there."""

from typing import Any

import pytest
import typer.main

from bench.coverage import BETWEEN, PAGE, read_table, write_page
from burnish.cli.main import app
from burnish.config.locate import experiments
from burnish.config.suggest import every_option
from burnish.registry import default_registry
from tests.test_docs import ROOT

TABLE = read_table()
ROWS = [row for part in TABLE["parts"] for row in part["rows"]]
OPTIONS = {option.path for option in every_option(default_registry())} | {"metrics", "track"}
NAMES = {each.name for each in experiments()}
KINDS = {"task": "tasks", "model": "models", "optimizer": "optimizers", "schedule": "schedules", "track": "trackers"}
KINDS |= {"truncation": "truncations"}


def is_there(name: str) -> bool:
    if name.startswith("burnish "):
        return is_command(name.split()[1:])
    sort, equals, value = name.partition("=")
    if sort == "experiment":
        return value in NAMES
    if sort == "file":
        return (ROOT / value).exists()
    return default_registry().knows(KINDS.get(sort, sort), value) if equals else name in OPTIONS


def is_command(words: list[str]) -> bool:
    command: Any = typer.main.get_command(app)
    for word in words:
        if word.startswith("--"):
            return any(word in param.opts for param in command.params)
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            return False
    return True


@pytest.mark.parametrize(("what", "here", "test"), ROWS, ids=[row[0] for row in ROWS])
def test_each_row_leads_to_something_that_is_there(what: str, here: str, test: str) -> None:
    assert [each for each in here.split(BETWEEN) if not is_there(each)] == []
    assert (ROOT / "tests" / test).is_file()


def test_what_is_not_there_would_be_seen() -> None:
    for name in ("burnish teleport", "burnish train --fly", "train.bach", "task=knit", "experiment=x", "file=x"):
        assert not is_there(name)


def test_the_page_is_what_the_table_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == write_page(TABLE), "python -m bench.coverage writes it"


def test_what_is_left_out_has_a_reason() -> None:
    assert all(len(row) >= 2 for row in TABLE["left"])
