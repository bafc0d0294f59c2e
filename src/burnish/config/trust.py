"""Decides whose configs may lead to code: the user's own, and those that this user trained with on this machine."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel

from burnish.config.locate import PLAN
from burnish.config.nodes import Branch, Items, Leaf, Node, write_path
from burnish.config.nodes import Path as KeyPath
from burnish.config.render import write_value
from burnish.durable import sha256_of, write_durably
from burnish.registry import is_address
from burnish.spec.component import RunsCode
from burnish.storage.address import read_address

_MANIFEST = "MANIFEST.json"


def is_trusted(config: Path) -> bool:
    """Tell whether a config may lead to any code: the user wrote it, or trained with these very bytes."""
    return not was_recorded(config) or any(record.is_file() for record in _records(config))


def remember(config: Path, code: str) -> None:
    """Trust a config that a run of this user recorded; where nothing can be kept, the user is asked at the next load.

    The memory is outside of runs and artifacts, which anybody may have made.
    """
    for record in _records(config):
        with suppress(OSError):
            record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_durably(record, f"{config.absolute()}\n{code}\n".encode())


def code_in(value: object, path: KeyPath = ()) -> Iterator[str]:
    """Find the options of components that make code from outside run, each with its value."""
    if isinstance(value, BaseModel):
        for name, info in type(value).model_fields.items():
            option = getattr(value, name)
            if option and any(isinstance(each, RunsCode) for each in info.metadata):
                yield f"{write_path((*path, name))}: {write_value(option)}"
            else:
                yield from code_in(option, (*path, name))
    elif isinstance(value, Mapping | tuple):
        for key, each in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from code_in(each, (*path, key))


def addresses_in(node: Node, path: KeyPath) -> Iterator[str]:
    """Find every address below a component that may not be imported, so that nobody knows which of them it would."""
    if isinstance(node, Leaf):
        if node.value is not None and is_address(node.value):
            yield f"{write_path(path)}: {node.value}"
    else:
        assert isinstance(node, Branch | Items)  # there is no fourth kind of node
        for key, each in node.nodes.items() if isinstance(node, Branch) else enumerate(node.nodes):
            yield from addresses_in(each, (*path, key))


def was_recorded(config: Path) -> bool:
    """Tell whether a program wrote it: the plan of a run, or the experiment of an artifact or a prepared folder."""
    is_elsewhere = read_address(config) is not None  # anybody may have written it
    return is_elsewhere or config.name == PLAN or (config.parent / _MANIFEST).exists()


def _records(config: Path) -> Iterator[Path]:
    """Name the file that records a config's bytes; none for a user without a home, or bytes that cannot be read."""
    with suppress(RuntimeError, OSError):
        yield state_folder() / "trusted" / sha256_of(config)


def state_folder() -> Path:
    """Name the folder of what this user's commands remember; RuntimeError for a user without a home."""
    named = os.environ.get("BURNISH_STATE")
    return Path(named).expanduser() if named else Path.home() / ".local" / "state" / "burnish"
