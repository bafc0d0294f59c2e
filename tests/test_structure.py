"""The source keeps two rules that no linter knows: one class a name, and components that answer for themselves.

Sizes are no test: `python -m bench.structure` prints them for those who want to know.
"""

import pytest

from bench.structure import Structure, measure

KINDS_ASKED = {
    "burnish.cli.outcome:Linear",  # what to try next
    "burnish.commands.glue:Glue",  # only a set of GLUE has its test files
    "burnish.commands.glue:PreparedFolder",
    "burnish.commands.search:Retrieval",  # a verb for one task
    "burnish.tasks.multi:Joint",  # several tasks in one of several
}


@pytest.fixture(scope="module")
def found() -> Structure:
    return measure()


def test_a_class_has_a_name_of_its_own(found: Structure) -> None:
    assert found.classes_named_twice == ()


def test_a_component_answers_for_itself_where_kinds_differ(found: Structure) -> None:
    assert set(found.kinds_asked) == KINDS_ASKED, "let the base class answer, and the component otherwise"
