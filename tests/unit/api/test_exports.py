"""`import burnish` offers what its reference says, and loads nothing for it."""

import ast
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import burnish

ROOT = Path(__file__).parents[3]


def python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_burnish_loads_nothing_heavy() -> None:
    heavy = ("torch", "pydantic", "yaml", "numpy", "pyarrow", "typer", "rich", "sklearn")
    assert python(f"import sys, burnish; dir(burnish); print([m for m in {heavy} if m in sys.modules])") == "[]"


def test_every_exported_name_is_there_and_listed() -> None:
    assert {*burnish.__all__} <= {*dir(burnish)}
    assert [name for name in burnish.__all__ if getattr(burnish, name) is None] == []


def test_every_name_stays_what_it_is_after_every_other() -> None:
    """A submodule of the same name would take its place as soon as anything imports it."""
    submodules = {module.name for module in pkgutil.iter_modules(burnish.__path__)}
    assert submodules & {*burnish.__all__} == set()
    code = """
import burnish
from importlib import import_module
from pkgutil import iter_modules

names = burnish.__all__
for name in [*names, *reversed(names)]:
    getattr(burnish, name)
for module in iter_modules(burnish.__path__):
    if module.name != "__main__":
        import_module(f"burnish.{module.name}")
print(*(name for name in names if not callable(getattr(burnish, name))))
"""
    assert python(code) == ""


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'burnish' has no attribute 'fit'"):
        _ = burnish.fit  # type: ignore[attr-defined]  # as people try


def test_type_checkers_see_the_same_names() -> None:
    stub = ast.parse(Path(burnish.__file__).with_suffix(".pyi").read_text())
    names = [alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(filter(None, names)) == burnish.__all__


def test_the_reference_has_a_section_for_each_name() -> None:
    page = (ROOT / "docs/reference/python.md").read_text()
    assert sorted(re.findall(r"^#+ `(\w+)", page, flags=re.MULTILINE)) == burnish.__all__


def test_an_estimator_without_scikit_learn_says_what_to_install() -> None:
    hide = "import sys; sys.modules['sklearn'] = sys.modules['sklearn.base'] = None"
    code = f"{hide}\nimport burnish\ntry: burnish.BurnishClassifier\nexcept burnish.BurnishError as error: print(error)"
    assert "pip install 'burnish[baselines]'" in python(code)
