"""Says which code from outside of Burnish an artifact needs: it is named in an artifact, and never carried by it."""

import ast
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.metadata import packages_distributions, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from burnish.errors import CheckpointError
from burnish.spec.experiment import Experiment

_OURS = __name__.partition(".")[0]
_MOST_FILES = 200
"""More than that is somebody's library, and not the few files that a task was divided into."""


def foreign_code(component: BaseModel) -> list[dict[str, str]]:
    """List the classes of an experiment that others wrote: address, file name, and the package they came with."""
    return [_described(cls) for cls in dict.fromkeys(_classes(component)) if cls.__module__.partition(".")[0] != _OURS]


def encoding_code(experiment: Experiment) -> dict[str, str]:
    """Tell which code besides ours shapes features: the tokenizers library, and what others wrote of task and data."""
    return {"tokenizers": version("tokenizers"), **code_digests((experiment.task, experiment.data))}


def code_digests(component: object) -> dict[str, str]:
    """Hash the files of the code that others wrote, by module: the same name may stand for other code tomorrow.

    The files next to a module that it imports count as part of it.
    """
    foreign = [cls.__module__ for cls in _classes(component)] + [*_functions(component)]
    found = {name: _file_of(name) for name in foreign if name.partition(".")[0] != _OURS}
    return {name: _digest(name, file) for name, file in sorted(found.items()) if file is not None}


def _digest(module: str, file: Path) -> str:
    digests = [sha256(each.read_bytes()).hexdigest() for each in files_with_imports(module, file)]
    return digests[0] if len(digests) == 1 else sha256("".join(digests).encode()).hexdigest()


def _functions(value: object) -> Iterator[str]:
    """Name the modules of functions that stand in options as `module:function`."""
    if isinstance(value, BaseModel):
        address = getattr(value, "function", None)
        if isinstance(address, str):
            yield address.partition(":")[0]
        value = [getattr(value, name) for name in type(value).model_fields]
    if isinstance(value, tuple | list | Mapping):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _functions(each)


def _file_of(module: str) -> Path | None:
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec and spec.origin and Path(spec.origin).is_file() else None


def missing_code(path: Path, needed: Sequence[Any], *, why: str) -> CheckpointError:
    """Say what code an artifact was made with and how it is brought here."""
    named = "; ".join(_told(each) for each in needed if isinstance(each, Mapping))
    return CheckpointError(
        f"{path} was made with custom code that it does not contain and that cannot be used here: {named}. "
        f"Start from the folder of the file, put that folder on PYTHONPATH, or install the package. {why}"
    )


def _classes(value: object) -> Iterator[type]:
    if isinstance(value, BaseModel):
        yield type(value)
        for name in type(value).model_fields:
            yield from _classes(getattr(value, name))
    elif isinstance(value, tuple | list | Mapping):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _classes(each)


def _described(cls: type) -> dict[str, str]:
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    names = packages_distributions().get(cls.__module__.partition(".")[0], [])
    package = f"{names[0]} {version(names[0])}" if names else None
    described = {"address": f"{cls.__module__}:{cls.__qualname__}", "file": Path(file).name if file else ""}
    return {**described, **({"package": package} if package else {})}


def _told(needed: Mapping[str, Any]) -> str:
    source = f"package {needed['package']}" if "package" in needed else f"file {needed.get('file')}"
    return f"{needed.get('address')} ({source})"


def files_with_imports(module: str, file: Path) -> list[Path]:
    """Give a module's own file, and what it imports, directly or not, from its package or from the folder it is in.

    Of installed packages only the module's own is followed: others change with their versions.
    """
    root = file.parents[module.count(".") + (file.name == "__init__.py")]
    top = None if not _is_installed(root) else module.partition(".")[0]
    found = [file]
    for each in found:
        if len(found) > _MOST_FILES:
            break
        imported = (path for name in _imports(each, root) for path in _files(root, name, top=top))
        found += [path for path in dict.fromkeys(imported) if path not in found]
    return found


def _is_installed(root: Path) -> bool:
    places = {Path(place).resolve() for place in sysconfig.get_paths().values()}
    return root.resolve() in places


def _imports(file: Path, root: Path) -> Iterator[str]:
    """Give the dotted names that a file imports, seen from `root`; of `from a import b`, `b` may be a module too."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    package = file.relative_to(root).parent.parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join((*above, *filter(None, [node.module])))
            yield from (f"{base}.{each.name}".lstrip(".") for each in node.names)


def _files(root: Path, name: str, *, top: str | None) -> Iterator[Path]:
    """Give the files that an import of a name runs: the packages on the way to it, and the module."""
    parts = name.split(".")
    if top is not None and parts[0] != top:
        return
    for end in range(1, len(parts) + 1):
        place = root.joinpath(*parts[:end])
        yield from (path for path in (place / "__init__.py", place.with_name(f"{place.name}.py")) if path.is_file())
