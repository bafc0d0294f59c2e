"""Lays one layer over another; each value remembers what it replaced."""

from dataclasses import replace

from burnish.config.nodes import Branch, Node


def merge(base: Branch, over: Branch) -> Branch:
    """Merge deeply: texts and lists replace, sections join unless the type changed."""
    if _changes_type(base, over):
        old_type = {"type": base.nodes["type"]} if "type" in base.nodes else {}
        return replace(over, nodes=_joined(Branch(old_type, base.origin), over))
    origin = over.origin if base.origin.is_default else base.origin
    return Branch(_joined(base, over), origin, type=over.type or base.type)


def _joined(base: Branch, over: Branch) -> dict[str, Node]:
    laid = {key: _laid(base.nodes[key], node) if key in base.nodes else node for key, node in over.nodes.items()}
    return {**base.nodes, **laid}


def _laid(old: Node, new: Node) -> Node:
    if isinstance(old, Branch) and isinstance(new, Branch):
        return merge(old, new)
    return replace(new, origin=new.origin.after(old.origin))


def _changes_type(base: Branch, over: Branch) -> bool:
    return base.type is not None and over.type is not None and base.type != over.type
