"""Says which code from outside of Burnish an artifact needs: it is named in an artifact, and never carried by it."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from burnish.errors import CheckpointError

_OURS = __name__.partition(".")[0]


def foreign_code(component: BaseModel) -> list[dict[str, str]]:
    """List the classes of an experiment that others wrote: address, file name, and the package they came with."""
    return [_described(cls) for cls in dict.fromkeys(_classes(component)) if cls.__module__.partition(".")[0] != _OURS]


def missing_code(path: Path, needed: Sequence[Mapping[str, str]], *, why: str) -> CheckpointError:
    """Say what code an artifact was made with and how it is brought here."""
    named = "; ".join(_told(each) for each in needed)
    return CheckpointError(
        f"{path} was made with code of its own, which is not in it and could not be used here: {named}. "
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
    package = _package_of(cls)
    described = {"address": f"{cls.__module__}:{cls.__qualname__}", "file": Path(file).name if file else ""}
    return {**described, **({"package": package} if package else {})}


def _package_of(cls: type) -> str | None:
    names = packages_distributions().get(cls.__module__.partition(".")[0], [])
    return f"{names[0]} {version(names[0])}" if names else None


def _told(needed: Mapping[str, Any]) -> str:
    source = f"package {needed['package']}" if "package" in needed else f"file {needed.get('file')}"
    return f"{needed.get('address')} ({source})"
