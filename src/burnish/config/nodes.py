"""A config as it was written: texts, lists and sections, each with its origin."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from burnish.config.origins import Origin

Path = tuple[str | int, ...]

_SHORT = 60
_INDEX = re.compile(r"\[([0-9]+)\]")
_PLACE = re.compile(r"[0-9]{1,9}")
"""An index into a list; longer ones are none, and Python refuses to read thousands of digits."""


@dataclass(frozen=True)
class Leaf:
    """A scalar, kept as text; None for null."""

    value: str | None
    origin: Origin


@dataclass(frozen=True)
class Items:
    """A list."""

    nodes: "tuple[Node, ...]"
    origin: Origin


@dataclass(frozen=True)
class Branch:
    """A section of options."""

    nodes: "Mapping[str, Node]"
    origin: Origin
    type: str | None = None
    """The component that the options belong to, if the section fills a slot."""


Node = Leaf | Items | Branch


def write_path(path: Iterable[str | int]) -> str:
    """Write a path as users do: `metrics[0].average`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def read_path(text: str) -> Path:
    """Read a path that `dotted` wrote."""
    return tuple(int(part) if _PLACE.fullmatch(part) else part for part in spread(text).split("."))


def spread(text: str) -> str:
    """Write indices as keys: `metrics[0].average` → `metrics.0.average`."""
    return _INDEX.sub(r".\1", text)


def child(node: Node | None, part: str | int) -> Node | None:
    """Find what a node holds under a key or an index, if anything."""
    if isinstance(node, Branch):
        return node.nodes.get(str(part))
    if isinstance(node, Items) and isinstance(part, int) and part < len(node.nodes):
        return node.nodes[part]
    return None


def is_element(node: Node) -> bool:
    """Tell whether a section came from a path into a list, like `metrics[1].average=macro`."""
    return isinstance(node, Branch) and bool(node.nodes) and all(map(_PLACE.fullmatch, node.nodes))


def find(node: Node | None, path: Path) -> Node | None:
    """Follow a path down, if it leads anywhere."""
    for part in path:
        node = child(node, part)
    return node


def plain(node: Node) -> object:
    """Strip the origins: dicts, lists, texts and None."""
    if isinstance(node, Leaf):
        return node.value
    if isinstance(node, Items):
        return [plain(each) for each in node.nodes]
    return {key: plain(each) for key, each in node.nodes.items()}


def brief(node: Node) -> str:
    """Write a node on one short line, for messages."""
    text = _flow(plain(node))
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1]}…"


def _flow(value: object) -> str:
    if isinstance(value, dict):
        shown = {key: "…" if _may_be_secret(key, each) else _flow(each) for key, each in value.items()}
        return "{" + ", ".join(f"{key}: {each}" for key, each in shown.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    return "null" if value is None else one_line(str(value))


def _may_be_secret(key: object, value: object) -> bool:
    return key in ("url", "urls", "key") and not str(value).startswith(("${env:", "file:"))


def one_line(text: str) -> str:
    """Escape whatever would break a line or hide in it."""
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
