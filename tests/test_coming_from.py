"""Whoever comes from another tool finds each of its options answered, and what stands on the right can be typed."""

import dataclasses
import itertools
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from bench.coming_from import PAGES, Row, read_pages, rows_of, write_page
from burnish.cli.main import app
from burnish.config import load
from burnish.errors import BurnishError
from burnish.launch.options import read_launcher
from tests.documented import write_documented

PAGES_OF = {page["page"]: page for page in read_pages()}


def every_row() -> Iterator[Any]:
    for name, page in PAGES_OF.items():
        for group in page["groups"]:
            yield from (pytest.param(page, row, id=f"{name}: {row.theirs}") for row in rows_of(page, group))


@pytest.mark.parametrize("page", PAGES_OF.values(), ids=PAGES_OF)
def test_a_page_is_what_the_tables_say(page: dict[str, Any]) -> None:
    written = (PAGES / f"{page['page']}.md").read_text(encoding="utf-8")
    assert written == write_page(page), "python -m bench.coming_from writes it"


def test_every_page_is_listed() -> None:
    assert {path.stem for path in PAGES.glob("*.md")} == {*PAGES_OF}


@pytest.mark.parametrize(("page", "row"), every_row())
def test_an_option_is_answered(page: dict[str, Any], row: Row) -> None:
    assert row.ours or row.note
    refusals = [refusal for each in row.ours if "=" in each and (refusal := refusal_of(each, row, page["bases"]))]
    assert refusals == []


def refusal_of(typed: str, row: Row, bases: list[str]) -> str | None:
    """Type an option of ours on each experiment of the page, until one takes it."""
    *command, word = shlex.split(typed)
    assert command == [] or command[0] == "burnish"
    if word.startswith("launch."):
        read_launcher("vertex", [word.removeprefix("launch.")])
        return None
    refusal = ""
    for base, needs in itertools.product(bases, ((), row.needs)):
        try:
            load(base, overrides=[*needs, word])
        except BurnishError as error:
            refusal = str(error)
        else:
            return None
    return refusal


@pytest.mark.parametrize("page", PAGES_OF.values(), ids=PAGES_OF)
def test_the_first_command_is_one_that_is_taken(page: dict[str, Any]) -> None:
    for line in page["here"].replace("\\\n", " ").strip().splitlines():
        name, *words = shlex.split(line)[1:]
        parsed = typer.main.get_command(app).commands[name].make_context(name, words).params  # type: ignore[attr-defined]
        experiment = parsed.get("experiment", "")
        if experiment:  # one that `burnish new` has just written is like one of ours
            like = experiment if not experiment.endswith(".yaml") else page["bases"][0]
            override = [word for text in parsed["params_override"] or () for word in text.split(",")]
            load(like, overrides=[*override, *(parsed["overrides"] or ())])


@pytest.mark.parametrize("page", PAGES_OF.values(), ids=PAGES_OF)
def test_the_first_job_fits_the_files_that_it_names(
    page: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `burnish new` writes next to those files takes the options of the next line, and finds every input."""
    write_documented(tmp_path)
    monkeypatch.chdir(tmp_path)
    for line in page["here"].replace("\\\n", " ").strip().splitlines():
        words = shlex.split(line)[1:]
        if words[0] == "new":
            assert CliRunner().invoke(app, words).exit_code == 0
        elif words[0] == "train" and words[1].endswith(".yaml"):
            overrides = [word for word in words[2:] if "=" in word]
            result = CliRunner().invoke(app, ["config", "check", words[1], *overrides])
            assert result.exit_code == 0, result.output


def test_every_training_argument_is_answered_somewhere_on_the_page() -> None:
    """The page shows those that people set; the table behind it answers all (see test_foreign)."""
    transformers = pytest.importorskip("transformers")
    fields = {each.name for each in dataclasses.fields(transformers.TrainingArguments)}
    shown = {option.split()[0] for options in PAGES_OF["trainer"]["groups"].values() for option in options}
    assert len(shown & fields) > 40


def test_an_option_without_an_answer_would_be_seen() -> None:
    page = {**PAGES_OF["ludwig"], "groups": {"x": ["teleport 1"]}}
    with pytest.raises(KeyError, match="no answer to teleport"):
        list(rows_of(page, "x"))
    row = Row("x", ("train.bach=1",), "", ())
    assert "no such option" in str(refusal_of("train.bach=1", row, ["imdb"]))
