"""What a task means where an experiment says nothing: the lowest layer, chosen by the task that the others name."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from burnish.config.nodes import Branch, Items, Leaf, Node, child
from burnish.config.normalise import normalise
from burnish.config.origins import DEFAULT, Origin
from burnish.config.shape import FieldShape, shapes_of
from burnish.errors import ConfigError
from burnish.registry import Registry
from burnish.spec.component import Component
from burnish.spec.experiment import Experiment


def defaults_layer(tree: Branch, *, registry: Registry) -> Branch:
    """Give the defaults of the task in a merged tree, without those that give way to what the tree says."""
    task = tree.nodes.get("task")
    name = task.type if isinstance(task, Branch) else None
    try:
        defaults = registry.load("tasks", name).defaults if name else {}
    except ConfigError:
        defaults = {}  # decode meets the same name again and reports it with its origin
    origin = Origin(f"default of task {name}", is_default=True)
    layer = Branch({key: _node(value, origin) for key, value in defaults.items()}, origin)
    full = normalise(layer, Branch({}, DEFAULT), root=Experiment, registry=registry)
    return _Sieve(registry).kept(full, Experiment, over=tree)


def _node(value: Any, origin: Origin) -> Node:
    if isinstance(value, Mapping):
        return Branch({key: _node(each, origin) for key, each in value.items()}, origin)
    if isinstance(value, list | tuple):
        return Items(tuple(_node(each, origin) for each in value), origin)
    return Leaf(None if value is None else str(value), origin)


@dataclass(frozen=True)
class _Sieve:
    """Walk defaults, the classes they belong to and what is written together."""

    registry: Registry

    def kept(self, layer: Branch, cls: type[Component], *, over: Node | None) -> Branch:
        shapes = shapes_of(cls)
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
