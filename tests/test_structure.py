"""The source keeps its shape: short files and functions, one class a name, few small modules.

A limit is raised for what users lack, and never for comfort.
"""

import pytest

from bench.structure import Structure, measure

MAX_LINES = 61_200
MAX_MODULES = 423
MAX_MODULES_IN_A_FOLDER = 25

# A command's options are its parameters, each with its help.
LONG_SIGNATURES = {
    "burnish.cli.data:train_tokenizer",
    "burnish.cli.predict:predict",
    "burnish.cli.serve:serve",
}
SHARED_NAMES: set[str] = set()
SMALL_MODULES = {
    "burnish.ui.server",  # asks for the extra before the board imports what it brings
    *(f"burnish.tasks.{task}.decoder" for task in ("multiple_choice", "tabular")),  # numpy; a file of every task
}
# What a short protocol's class says already.
NAMED_BY_THEIR_CLASS = {
    "Assets.max_positions",
    "DataRequest.seed",
    "Optimizer.learning_rate",
    "Optimizer.weight_decay",
    "Watcher.close",
    "Watcher.emit",
}

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


def test_no_file_is_long(found: Structure) -> None:
    assert found.long_files == ()


def test_only_signatures_of_commands_are_long(found: Structure) -> None:
    assert set(found.long_functions) == LONG_SIGNATURES


def test_a_class_has_a_name_of_its_own(found: Structure) -> None:
    assert set(found.classes_named_twice) == SHARED_NAMES


def test_a_folder_can_be_read_at_a_glance(found: Structure) -> None:
    folder, number = found.largest_folder
    assert number <= MAX_MODULES_IN_A_FOLDER, folder


def test_a_small_module_with_one_importer_joins_it(found: Structure) -> None:
    new = set(found.small_with_one_importer) - SMALL_MODULES
    assert not new, f"join {', '.join(sorted(new))} with the module that imports it"


def test_no_exception_is_left_over(found: Structure) -> None:
    over = SMALL_MODULES - set(found.small_with_one_importer)
    assert not over, f"remove {', '.join(sorted(over))} from SMALL_MODULES"


def test_a_component_answers_for_itself_where_kinds_differ(found: Structure) -> None:
    assert set(found.kinds_asked) == KINDS_ASKED, "let the base class answer, and the component otherwise"


def test_a_method_has_a_docstring_or_overrides_one_that_has(found: Structure) -> None:
    assert set(found.undocumented_methods) <= NAMED_BY_THEIR_CLASS


def test_the_tree_does_not_grow(found: Structure) -> None:
    assert found.lines <= MAX_LINES
    assert found.modules <= MAX_MODULES
