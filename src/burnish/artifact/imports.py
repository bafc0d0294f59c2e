"""Finds the files next to a module that it imports, without running them."""

import ast
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_MOST_FILES = 200
"""More than that is somebody's library, and not the few files that a task was divided into."""


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
