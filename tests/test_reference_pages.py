"""The written reference is what the source says, and leaves nothing out."""

import re

import pytest
import typer.main

from bench.reference import PAGES, WRITERS
from burnish import errors
from burnish.cli.main import app
from burnish.registry import default_registry
from tests.unit.cli.test_examples import every_verb


@pytest.mark.parametrize("name", WRITERS)
def test_a_page_is_what_the_source_says(name: str) -> None:
    assert (PAGES / f"{name}.md").read_text(encoding="utf-8") == WRITERS[name](), "python -m bench.reference writes it"


def test_every_component_has_its_place() -> None:
    headings = re.findall(r"^### `[\w.]+: ([\w]+)`", (PAGES / "options.md").read_text(encoding="utf-8"), re.MULTILINE)
    registry = default_registry()
    assert {each.name for kind in registry.kinds() for each in registry.names(kind)} == {*headings}


def test_every_verb_has_its_place() -> None:
    headings = re.findall(r"^## (.+)$", (PAGES / "commands.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert headings == [*every_verb(typer.main.get_command(app))]


def test_every_kind_of_error_has_its_exit_code() -> None:
    page = (PAGES / "exit-codes.md").read_text(encoding="utf-8")
    kinds = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.BurnishError)]
    rows = [f"| {each.exit_code} | `{each.__name__}` |" for each in kinds if each.exit_code != 5]
    assert [row for row in rows if row not in page] == []
    assert "`UntrustedCode`" in page


def test_every_name_of_the_python_api_has_its_place() -> None:
    import burnish

    page = (PAGES / "python.md").read_text(encoding="utf-8")
    assert [name for name in burnish.__all__ if name not in page] == []
