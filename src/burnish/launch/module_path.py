"""Lets a worker find the modules that its starter found: components of the user's own lie beside a script or config."""

import os
import site
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

_VARIABLE = "PYTHONPATH"
_HERE = "BURNISH_MODULES_HERE"
"""Set for a worker whose starter searched the folder it stands in."""


def module_path(asked: Mapping[str, str], *, searched: Sequence[str] | None = None) -> dict[str, str]:
    """Give the variables that make a new interpreter search where this one does.

    The folder that one stands in may be a stranger's: a `numpy.py` there must not be taken for numpy. Python would
    search it first, so it is kept from that, and `find_modules_here` adds it behind everything that is installed.
    """
    given = [each for each in asked.get(_VARIABLE, "").split(os.pathsep) if each]
    found = [os.path.abspath(each) for each in (sys.path if searched is None else searched) if os.path.isdir(each)]
    here = os.getcwd()
    added = [each for each in dict.fromkeys(found) if each not in (*given, here) and not is_installed(Path(each))]
    variables = {"PYTHONSAFEPATH": "1", _HERE: "1" if here in found else ""}
    return {**variables, _VARIABLE: os.pathsep.join([*given, *added])} if added else variables


def find_modules_here(*, is_wanted: bool | None = None) -> None:
    """Let a component of the user's own be named by a file in this folder; whatever is installed comes first."""
    here = os.getcwd()
    is_wanted = os.environ.get(_HERE) == "1" if is_wanted is None else is_wanted
    if is_wanted and here not in sys.path:
        sys.path.append(here)


def is_installed(path: Path) -> bool:
    """Tell whether a folder or file is below one that any interpreter of this environment searches by itself."""
    return any(path.is_relative_to(each) for each in _own_folders())


@cache
def _own_folders() -> list[str]:
    paths = sysconfig.get_paths()
    own = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return [*own, *site.getsitepackages(), site.getusersitepackages()]
