"""An artifact names the code of others that it needs, wherever in the experiment it stands."""

from pathlib import Path
from typing import Any

from burnish.artifact.foreign import foreign_code, missing_code
from burnish.data.truncation import Head
from burnish.spec.component import Component


class Mine(Component):
    """A component that Burnish does not bring."""

    inner: Any = None


class Below(Component):
    """Another one, for the inside of a component."""


def test_ours_are_not_named() -> None:
    assert foreign_code(Head()) == []


def test_components_are_found_inside_of_components_and_tuples_and_named_once() -> None:
    found = foreign_code(Mine(inner=(Head(), Below(), Below())))
    assert [each["address"].rpartition(":")[2] for each in found] == ["Mine", "Below"]
    assert {each["file"] for each in found} == {"test_foreign.py"}


def test_what_is_missing_is_told_by_package_or_file() -> None:
    needed = [
        {"address": "tickets:Tickets", "file": "tickets.py", "package": "burnish-tickets 0.1.0"},
        {"address": "mine:Model", "file": "mine.py"},
    ]
    sentence = str(missing_code(Path("runs/x/artifact"), needed, why="No module named 'mine'."))
    assert "tickets:Tickets (package burnish-tickets 0.1.0); mine:Model (file mine.py)" in sentence
    assert sentence.startswith("runs/x/artifact was made with custom code")
