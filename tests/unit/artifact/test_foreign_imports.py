"""The code that shapes features is known with the files next to it that it imports."""

import sys
from pathlib import Path

import pytest

from burnish.artifact.foreign import code_digests, files_with_imports
from burnish.tasks.tabular.options import Derived


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def names(root: Path, module: str) -> set[str]:
    file = root / f"{module.replace('.', '/')}.py"
    return {path.relative_to(root).as_posix() for path in files_with_imports(module, file)}


def test_what_a_module_imports_from_its_folder_is_found_however_it_is_imported(tmp_path: Path) -> None:
    write(tmp_path, mine="import os, numpy\nimport near\nfrom pack import deep\ndef late():\n    import inside\n")
    write(tmp_path, near="import mine, far", far="", inside="", unused="", pack__deep="from . import deeper")
    write(tmp_path, pack__deeper="from ..near import x", pack__other="")
    (tmp_path / "pack" / "__init__.py").write_text("")
    found = {"mine.py", "near.py", "far.py", "inside.py", "pack/__init__.py", "pack/deep.py", "pack/deeper.py"}
    assert names(tmp_path, "mine") == found


def test_a_package_finds_its_own_files_by_relative_and_absolute_names(tmp_path: Path) -> None:
    write(tmp_path, pack__task="from .text import clean\nfrom pack.sub.words import x", pack__text="", pack__rest="")
    write(tmp_path, pack__sub__words="from ..text import y\nfrom ... import beyond", pack__sub__init="")
    assert names(tmp_path, "pack.task") == {"pack/task.py", "pack/text.py", "pack/sub/words.py"}


def test_of_installed_code_only_its_own_package_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sysconfig.get_paths", lambda: {"purelib": str(tmp_path)})
    write(tmp_path, tickets__task="import numpy, tickets.text", tickets__text="", numpy="")
    assert names(tmp_path, "tickets.task") == {"tickets/task.py", "tickets/text.py"}


def test_a_file_that_is_no_python_is_followed_no_further(tmp_path: Path) -> None:
    write(tmp_path, mine="import odd", odd="def (:\nimport more", more="")
    assert names(tmp_path, "mine") == {"mine.py", "odd.py"}


def test_a_changed_file_next_to_the_function_of_a_column_changes_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    write(tmp_path, own_speed="from own_units import MILE\ndef speed(x): return x * MILE", own_units="MILE = 1.6")
    column = Derived(function="own_speed:speed", inputs={"x": "number"})
    before = code_digests(column)
    write(tmp_path, own_units="MILE = 1.609")
    assert before.keys() == code_digests(column).keys() == {"own_speed"}
    assert before != code_digests(column)
    assert "own_units" not in sys.modules
