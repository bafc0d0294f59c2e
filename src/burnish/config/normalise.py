"""Rewrites the short forms of a layer into the long one, so that layers can be merged."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from burnish.config.nodes import Branch, Items, Leaf, Node, child, is_element
from burnish.config.shape import FieldShape, shapes_of
from burnish.errors import ConfigError
from burnish.registry import Registry
from burnish.spec.component import Component, Slot


def normalise(layer: Branch, below: Branch, *, root: type[Component], registry: Registry) -> Branch:
    """Write a layer out in full; `below` is what the lower layers say, for options whose type they name."""
    return _Normaliser(registry).options(layer, root, below)


@dataclass(frozen=True)
class _Normaliser:
    registry: Registry

    def options(self, branch: Branch, cls: type[Component], below: Node | None) -> Branch:
        shapes = shapes_of(cls)
        nodes = {key: self._option(node, key, shapes, child(below, key)) for key, node in branch.nodes.items()}
        return replace(branch, nodes=nodes)

    def _option(self, node: Node, key: str, shapes: Mapping[str, FieldShape], below: Node | None) -> Node:
        shape = shapes.get(key)
        if shape is None or shape.is_plain or (isinstance(node, Leaf) and node.value is None):
            return node
        if shape.is_named:
            return self._named(node, shape, below)
        if not shape.is_many:
            return self._one(node, shape, below)
        if is_element(node):
            return node  # decode refuses it by name
        elements = node.nodes if isinstance(node, Items) else (node,)
        return Items(tuple(self._one(each, shape, None) for each in elements), node.origin)

    def _named(self, node: Node, shape: FieldShape, below: Node | None) -> Node:
        if not isinstance(node, Branch):
            return node  # decode refuses it by name
        one = {shape.name: shape.each}
        nodes = {name: self._option(each, shape.name, one, child(below, name)) for name, each in node.nodes.items()}
        return replace(node, nodes=nodes)

    def _one(self, node: Node, shape: FieldShape, below: Node | None) -> Node:
        if shape.slot is not None:
            return self._filled(node, shape.slot, below)
        if isinstance(node, Leaf) and shape.component is not None and shape.component.shorthand:
            node = Branch({shape.component.shorthand: node}, node.origin)
        return self.options(node, _sure(shape.component), below) if isinstance(node, Branch) else node

    def _filled(self, node: Node, slot: Slot, below: Node | None) -> Node:
        """Write a slot's value as `type` + options, and note which type the options belong to."""
        older = (below.type if isinstance(below, Branch) else None) or slot.default
        if isinstance(node, Leaf) and node.value is not None:
            node = Branch({self._key(node.value, slot, older): node}, node.origin)
        if not isinstance(node, Branch):
            return node
        written = node.nodes.get("type")
        name = written.value if isinstance(written, Leaf) and written.value else older
        cls = self._class(slot.kind, name)
        full = self.options(node, cls, below) if cls else node
        return replace(full, type=self.registry.canonical(slot.kind, name) if name else None)

    def _key(self, text: str, slot: Slot, older: str | None) -> str:
        """Decide what a bare scalar in a slot fills: a known name is a type, else the older type's shorthand."""
        cls = None if self.registry.knows(slot.kind, text) else self._class(slot.kind, older)
        return cls.shorthand if cls and cls.shorthand else "type"

    def _class(self, kind: str, name: str | None) -> type[Component] | None:
        try:
            return self.registry.load(kind, name) if name else None
        except ConfigError:
            return None  # decode meets the same name again and reports it with its origin


def _sure(cls: type[Component] | None) -> type[Component]:
    assert cls is not None, "a shape that is not plain has a slot or a component"  # only we can break it
    return cls
