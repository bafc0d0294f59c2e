"""What a component class accepts: its fields, seen as slots, sections and plain options."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import PydanticSchemaGenerationError, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from burnish.config.nodes import Branch, Items, Leaf, Node, plain
from burnish.registry import Registry
from burnish.spec.component import Component, Slot
from burnish.spec.secret import Secret


@dataclass(frozen=True)
class FieldShape:
    """One field of a component."""

    name: str
    info: FieldInfo
    slot: Slot | None
    """The kind of component it takes, written as `type:` + options."""
    component: type[Component] | None
    """The one class it takes, written as a section of options."""
    is_many: bool
    """Whether it takes a list of such components."""
    is_named: bool = False
    """Whether it takes such values by name: a section whose keys are free."""

    @property
    def is_plain(self) -> bool:
        """Tell whether the field is an ordinary value, which pydantic reads alone."""
        return self.slot is None and self.component is None

    @property
    def is_secret(self) -> bool:
        """Tell whether the field takes a reference to a secret, or several."""
        forms = [*_alternatives(self.info.annotation)]
        return Secret in (*forms, *(part for form in forms for part in get_args(form)))

    @property
    def wants_list(self) -> bool:
        """Tell whether every form of the value is a list."""
        forms = [form for form in _alternatives(self.info.annotation) if form is not NoneType]
        return bool(forms) and all((get_origin(form) or form) in (tuple, list, set, frozenset) for form in forms)

    @property
    def each(self) -> "FieldShape":
        """The shape of one value of those that are taken by name."""
        return replace(self, is_named=False)

    def literals(self) -> dict[str, object]:
        """List the fixed values that are not text, by the text a user would write."""
        forms = (form for form in _alternatives(self.info.annotation) if get_origin(form) is Literal)
        return {str(value): value for form in forms for value in get_args(form) if not isinstance(value, str)}

    def plain_value(self, node: Node) -> Any:
        """Pass what was written on to pydantic: text, which the field's type converts."""
        if not isinstance(node, Leaf) or node.value is None:
            return plain(node)
        is_filled = node.origin.variable is not None and self.is_secret
        text = f"${{env:{node.origin.variable}}}" if is_filled else node.value
        value = self.literals().get(text, text)
        return [value] if self.wants_list else value

    def accepts(self, node: Node, *, registry: Registry) -> bool:
        """Tell whether what was written is of the type that this field takes."""
        if self.is_plain:
            return self._accepts_plain(self.plain_value(node))
        if isinstance(node, Leaf) and not self.is_named:
            return node.value is not None and self._accepts_bare(node, node.value, registry)
        return isinstance(node, Branch) or (isinstance(node, Items) and self.is_many)

    def _accepts_plain(self, value: Any) -> bool:
        form: Any = Annotated[self.info.annotation, self.info]
        try:
            TypeAdapter(form).validate_python(value)
        except (ValidationError, PydanticSchemaGenerationError):  # the second for a class that only its component reads
            return False
        return True

    def _accepts_bare(self, node: Leaf, text: str, registry: Registry) -> bool:
        """Look at a scalar in the place of a component: its name, or what its shorthand takes."""
        if self.slot is not None and registry.knows(self.slot.kind, text):
            return True
        cls = self.component
        if self.slot is not None and self.slot.default is not None:
            cls = registry.load(self.slot.kind, self.slot.default)
        if cls is None or cls.shorthand is None:
            return False
        return describe_fields(cls)[cls.shorthand].accepts(node, registry=registry)


@cache
def describe_fields(cls: type[Component]) -> Mapping[str, FieldShape]:
    """Describe the fields of a component class by name."""
    return {name: _shape(name, info) for name, info in cls.model_fields.items()}


def _shape(name: str, info: FieldInfo) -> FieldShape:
    forms = [form for form in _alternatives(info.annotation) if form is not NoneType]
    slots = [*(each for each in info.metadata if isinstance(each, Slot)), *_slots(info.annotation)]
    slot = slots[0] if slots else None
    only = forms[0] if len(forms) == 1 else None
    # A section of plain options by name, like the columns of a table, is pydantic's to read.
    is_named = slot is not None and get_origin(only) is Mapping
    only = _bare(get_args(only)[1]) if is_named else only
    is_many = get_origin(only) is tuple and get_args(only)[-1] is Ellipsis
    inner = _bare(get_args(only)[0]) if is_many else only
    component = inner if slot is None and isinstance(inner, type) and issubclass(inner, Component) else None
    is_many = is_many and bool(slot or component)
    return FieldShape(name, info, slot=slot, component=component, is_many=is_many, is_named=is_named)


def _alternatives(annotation: Any) -> Iterator[Any]:
    """List the forms of a union, with annotations stripped; a single form is a union of one."""
    bare = _bare(annotation)
    if get_origin(bare) in (Union, UnionType):
        for form in get_args(bare):
            yield from _alternatives(form)
    else:
        yield bare


def _bare(annotation: Any) -> Any:
    return _bare(get_args(annotation)[0]) if get_origin(annotation) is Annotated else annotation


def _slots(annotation: Any) -> Iterator[Slot]:
    """Find slot marks inside a union, like `Annotated[Truncation, Slot(…)] | None`."""
    for part in get_args(annotation):
        if isinstance(part, Slot):
            yield part
        elif get_origin(part) is Annotated or get_origin(annotation) in (Union, UnionType):
            yield from _slots(part)
