"""Imports an optional package, or says which extra brings it."""

from importlib import import_module
from types import ModuleType

from burnish.errors import MissingExtra


def require(module: str, *, extra: str, why: str) -> ModuleType:
    """Import a package that only some features need, like `require("peft", extra="lora", why="for LoRA")`."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = (error.name or module).partition(".")[0]
        raise MissingExtra(
            f"{missing} is not installed, and it is needed {why}; install it with: pip install 'burnish[{extra}]'"
        ) from error
