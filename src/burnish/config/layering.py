"""Rewrites the short forms of layers into the long one, and lays one over another, above the defaults of the task."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from burnish.config.nodes import Branch, Items, Leaf, Node, child, is_element
from burnish.config.origins import DEFAULT, Origin
from burnish.config.shape import FieldShape, describe_fields
from burnish.errors import ConfigError
from burnish.registry import Registry
from burnish.spec.component import Component, Slot
from burnish.spec.experiment import Experiment


def merge(base: Branch, over: Branch) -> Branch:
    """Merge deeply: texts and lists replace, sections join unless the type changed."""
    if base.type is not None and over.type is not None and base.type != over.type:
        old_type = {"type": base.nodes["type"]} if "type" in base.nodes else {}
        return replace(over, nodes=_join(Branch(old_type, base.origin), over))
    origin = over.origin if base.origin.is_default else base.origin
    return Branch(_join(base, over), origin, type=over.type or base.type)


def _join(base: Branch, over: Branch) -> dict[str, Node]:
    laid = {key: _lay(base.nodes[key], node) if key in base.nodes else node for key, node in over.nodes.items()}
    return {**base.nodes, **laid}


def _lay(old: Node, new: Node) -> Node:
    if isinstance(old, Branch) and isinstance(new, Branch):
        return merge(old, new)
    return replace(new, origin=new.origin.after(old.origin))


def spread_keys(node: Node) -> Node:
    """Write dotted keys as sections within sections, so that layers meet whichever way each was written."""
    if not isinstance(node, Branch):
        return node
    whole = Branch({}, node.origin)
    for name, each in node.nodes.items():
        inner = spread_keys(each)
        for key in reversed(name.split(".")):
            inner = Branch({key: inner}, inner.origin)
        assert isinstance(inner, Branch)  # a name has at least one part
        whole = merge(whole, inner)
    return whole


def normalise(layer: Branch, below: Branch, *, root: type[Component], registry: Registry) -> Branch:
    """Write a layer out in full; `below` is what the lower layers say, for options whose type they name."""
    return _Normaliser(registry).options(layer, root, below)


@dataclass(frozen=True)
class _Normaliser:
    registry: Registry

    def options(self, branch: Branch, cls: type[Component], below: Node | None) -> Branch:
        shapes = describe_fields(cls)
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
            # What a bare scalar in a slot fills: a known name is a type, else the older type's shorthand.
            cls = None if self.registry.knows(slot.kind, node.value) else self._class(slot.kind, older)
            node = Branch({cls.shorthand if cls and cls.shorthand else "type": node}, node.origin)
        if not isinstance(node, Branch):
            return node
        written = node.nodes.get("type")
        name = written.value if isinstance(written, Leaf) and written.value else older
        cls = self._class(slot.kind, name)
        full = self.options(node, cls, below) if cls else node
        return replace(full, type=self.registry.canonical(slot.kind, name) if name else None)

    def _class(self, kind: str, name: str | None) -> type[Component] | None:
        try:
            return self.registry.load(kind, name) if name else None
        except ConfigError:
            return None  # decode meets the same name again and reports it with its origin


def _sure(cls: type[Component] | None) -> type[Component]:
    assert cls is not None, "a shape that is not plain has a slot or a component"  # only we can break it
    return cls


def defaults_layer(tree: Branch, *, registry: Registry) -> Branch:
    """Build the layer of the task's defaults in a merged tree, without those that give way to what the tree says."""
    task = tree.nodes.get("task")
    name = task.type if isinstance(task, Branch) else None
    try:
        defaults = registry.load("tasks", name).defaults if name else {}
    except ConfigError:
        defaults = {}  # decode meets the same name again and reports it with its origin
    origin = Origin(f"default of task {name}", is_default=True)
    layer = Branch({key: make_node(value, origin) for key, value in defaults.items()}, origin)
    full = normalise(layer, Branch({}, DEFAULT), root=Experiment, registry=registry)
    return _Sieve(registry).kept(full, Experiment, over=tree)


def make_node(value: Any, origin: Origin) -> Node:
    """Read values that a component states, written as YAML would be."""
    if isinstance(value, Mapping):
        return Branch({key: make_node(each, origin) for key, each in value.items()}, origin)
    if isinstance(value, list | tuple):
        return Items(tuple(make_node(each, origin) for each in value), origin)
    return Leaf(None if value is None else str(value), origin)


@dataclass(frozen=True)
class _Sieve:
    """Walk defaults, the classes they belong to and what is written together."""

    registry: Registry

    def kept(self, layer: Branch, cls: type[Component], *, over: Node | None) -> Branch:
        shapes = describe_fields(cls)
        nodes = {
            key: self._inside(node, shapes.get(key), over=child(over, key))
            for key, node in layer.nodes.items()
            if not any(_is_written(child(over, other)) for other in cls.yields.get(key, ()))
        }
        return replace(layer, nodes=nodes)

    def _inside(self, node: Node, shape: FieldShape | None, *, over: Node | None) -> Node:
        if shape is None or not isinstance(node, Branch) or not isinstance(over, Branch):
            return node
        slot, cls = shape.slot, shape.component
        try:
            cls = self.registry.load(slot.kind, node.type) if slot and node.type else cls
        except ConfigError:
            return node  # a task's default names it; decode reports it with that origin
        return self.kept(node, cls, over=over) if cls else node


def _is_written(node: Node | None) -> bool:
    return node is not None and not (isinstance(node, Leaf) and node.value is None)
