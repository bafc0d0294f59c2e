"""Lets a worker find the modules that its starter found: components of the user's own lie beside a script or config."""

import os
import site
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

_VARIABLE = "PYTHONPATH"


def module_path(asked: Mapping[str, str], *, searched: Sequence[str] | None = None) -> dict[str, str]:
    """Give the variable that makes a new interpreter search where this one does; nothing where it would anyway."""
    given = [each for each in asked.get(_VARIABLE, "").split(os.pathsep) if each]
    found = [os.path.abspath(each) for each in (sys.path if searched is None else searched) if os.path.isdir(each)]
    added = [each for each in dict.fromkeys(found) if each not in given and not _is_built_in(each)]
    return {_VARIABLE: os.pathsep.join([*given, *added])} if added else {}


def _is_built_in(folder: str) -> bool:
    """Tell whether any interpreter of this environment searches a folder by itself, and in a better order."""
    return any(Path(folder).is_relative_to(each) for each in _own_folders())


def _own_folders() -> list[str]:
    paths = sysconfig.get_paths()
    own = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return [*own, *site.getsitepackages(), site.getusersitepackages()]
