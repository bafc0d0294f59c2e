"""A verb declares its options once, and answers people and programs from one reply."""

import json
from pathlib import Path
from typing import Annotated

import pytest
import typer

from burnish.cli.options import Asked, option
from burnish.cli.tables import TextTable
from burnish.cli.verb import Lines, Reply, Verb, group, verb
from burnish.errors import BurnishError

Captured = pytest.CaptureFixture[str]


@verb("save")
def save(*, out: Annotated[Path, option("--out FILE", "Where to.")]) -> Lines:
    """Save it."""
    return [str(out)]


@verb("save", addresses=("out",))
def save_anywhere(*, out: Annotated[Path, option("--out FILE", "Where to.")]) -> Lines:
    """Save it anywhere."""
    return [str(out)]


@verb("count")
def count(asked: Asked, *, most: Annotated[int, option("--most -m N", "How many.")] = 5) -> Reply:
    """Count."""
    lines = ["counted", TextTable(("what",), ((asked.experiment,),))]
    return Reply({"asked": asked, "most": most}, lines, code=3, notes=["a note"])


@verb("follow")
def follow() -> Reply:
    """Follow."""
    return Reply(events=[{"event": "a"}, {"event": "b"}], lines=["over"])


@verb("plain")
def plain() -> Lines:
    """Print lines alone."""
    yield "one"
    yield "two"


def call(word: Verb, *words: str) -> object:
    app = group("app", "An app.", word, plain)
    return typer.main.get_command(app)(args=[word.name, *words], standalone_mode=False)


def test_a_group_of_options_is_spread_and_put_together_again(capsys: Captured) -> None:
    assert call(count, "mine.yaml", "a=1", "-c", "b.yaml", "-m", "2", "--json") == 3
    answer, noted = capsys.readouterr()
    asked = {"experiment": "mine.yaml", "overrides": ["a=1"], "configs": ["b.yaml"], "params_override": None}
    assert json.loads(answer) == {"asked": asked, "most": 2}
    assert noted == "note: a note\n"


def test_people_read_lines_and_tables(capsys: Captured) -> None:
    assert call(count, "mine.yaml") == 3
    assert capsys.readouterr() == ("counted\nwhat\nmine.yaml\n", "note: a note\n")


def test_events_are_a_line_each(capsys: Captured) -> None:
    assert call(follow, "--json") == 0
    assert capsys.readouterr().out == '{"event": "a"}\n{"event": "b"}\n'


def test_a_verb_of_lines_alone_has_no_json(capsys: Captured) -> None:
    assert call(plain) == 0
    assert capsys.readouterr().out == "one\ntwo\n"
    with pytest.raises(Exception, match="--json"):
        call(plain, "--json")


def test_an_address_is_no_path() -> None:
    with pytest.raises(BurnishError, match="this must be a path on this machine"):
        call(save, "--out", "gs://box/a.yaml")


def test_an_address_may_be_a_path_where_a_verb_says_so(capsys: Captured) -> None:
    assert call(save_anywhere, "--out", "gs://box/a.yaml") == 0
    assert capsys.readouterr().out == "gs:/box/a.yaml\n"


def test_what_lies_over_an_experiment_may_be_nothing() -> None:
    assert Asked("mine").layers == {"configs": (), "overrides": []}
    assert Asked("mine", ["a=1"], [Path("b.yaml")]).layers == {"configs": [Path("b.yaml")], "overrides": ["a=1"]}
