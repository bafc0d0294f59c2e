"""Makes an experiment of a merged tree, or one error with every problem in it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from pydantic import ValidationError

from burnish.config.complaints import complaints, hide_values, origins, show
from burnish.config.environment import explain_reference
from burnish.config.nodes import Branch, Items, Leaf, Node, Path, find, is_element, write_path
from burnish.config.origins import DEFAULT
from burnish.config.shape import FieldShape, describe_fields
from burnish.config.suggest import (
    KnownOption,
    explain_address,
    meant_component,
    secret_variables,
    strangers,
    suggestion,
    write_type,
)
from burnish.config.trust import addresses_in, code_in
from burnish.errors import ConfigError, Problem
from burnish.nearest import nearest
from burnish.registry import ForeignCode, Registry
from burnish.spec.component import Component, Slot
from burnish.spec.experiment import Experiment

_Section = TypeVar("_Section", bound=Component)
_FAILED: Any = object()
_ABSENT: Any = object()
_POISON = "\0"
"""A key that no component has: it keeps a component's own checks from running on half of its options."""


class Incomplete(ConfigError):
    """Refuse an experiment, with those of its sections that are sound and may still be held against one another."""

    def __init__(self, problems: Sequence[Problem], sound: Mapping[str, Any]) -> None:
        super().__init__(problems)
        self.sound = sound


def decode(tree: Branch, *, registry: Registry, root: type[Component] = Experiment) -> Any:
    """Build the experiment, or another root, that a normalised tree describes; raise Incomplete with every problem.

    With a guarded registry, raise ForeignCode with all that would lead to code, and import none of it.
    """
    decoder = _Decoder(registry, tree, root)
    value = decoder.component(root, tree, ())
    foreign = [*decoder.foreign, *code_in(decoder.sections)] if registry.is_guarded else []
    if foreign:
        raise ForeignCode(foreign)
    if decoder.problems:
        raise Incomplete(decoder.problems, decoder.sections)
    assert isinstance(value, root)  # no problems means a value
    return value


def decode_section(cls: type[_Section], branch: Branch, *, key: str, registry: Registry) -> _Section:
    """Build a section that stands beside an experiment; raise one ConfigError with every problem."""
    decoder = _Decoder(registry, Branch({key: branch}, branch.origin), Experiment)
    section = decoder.component(cls, branch, (key,))
    if decoder.foreign:
        raise ForeignCode(decoder.foreign)
    if decoder.problems:
        raise ConfigError(decoder.problems)
    assert isinstance(section, cls)  # no problems means a value
    return section


@dataclass
class _Decoder:
    """Walk tree and classes together, collecting problems."""

    registry: Registry
    tree: Branch
    root: type[Component]
    problems: list[Problem] = field(default_factory=list)
    sections: dict[str, Any] = field(default_factory=dict)
    """The sections of the experiment that are sound."""
    foreign: list[str] = field(default_factory=list)
    """The addresses that a guarded registry refused, and those below them, whatever they mean there."""

    def component(self, cls: type[Component], branch: Branch, path: Path, *, default: Component | None = None) -> Any:
        """Build a component; what a section leaves out is as in the default of its field, where that states it."""
        shapes = describe_fields(cls)
        extra = ("type",) if branch.type is not None else ()
        self._refuse_unknown(cls, branch, path=path, extra=extra)
        values = {name: self._value(shape, branch.nodes.get(name), path) for name, shape in shapes.items()}
        failed = {name for name, value in values.items() if value is _FAILED}
        given = {} if default is None else {name: getattr(default, name) for name in default.model_fields_set}
        given |= {name: value for name, value in values.items() if value is not _ABSENT and value is not _FAILED}
        if not path:
            self.sections = {name: value for name, value in given.items() if not shapes[name].is_plain}
        if failed or not {*shapes, *extra}.issuperset(branch.nodes):
            given[_POISON] = None
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            ignored = {_POISON, *failed}
            errors = [each for each in error.errors(include_url=False) if not ignored.intersection(each["loc"][:1])]
            self.problems += complaints(errors, branch, path=path)
            return _FAILED

    def _value(self, shape: FieldShape, node: Node | None, path: Path) -> Any:
        path = (*path, shape.name)
        if node is None:
            return self._absent(shape, path)
        return self._named(shape, node, path) if shape.is_named else self._given(shape, node, path)

    def _named(self, shape: FieldShape, node: Node, path: Path) -> Any:
        if not isinstance(node, Branch):
            got = show(node.value) if isinstance(node, Leaf) else "a list"
            return self._refuse(path, f"must be a section with a name for each, got {got}", node)
        values = {name: self._given(shape.each, each, (*path, name)) for name, each in node.nodes.items()}
        return _FAILED if _FAILED in values.values() else values

    def _given(self, shape: FieldShape, node: Node, path: Path) -> Any:
        if (shape.is_many or shape.wants_list) and is_element(node):
            return self._refuse(path, f"is a list, which can only be set as a whole, like {write_path(path)}=[…]", node)
        is_null = isinstance(node, Leaf) and node.value is None
        if is_null and (shape.is_many or shape.wants_list) and not _takes_null(shape):
            return ()  # what takes a list away again, like the test files of an experiment that one starts from
        if shape.is_plain:
            found, sentence = self._find_reference(node) or (node, "")
            if not sentence or shape.is_secret:
                return shape.plain_value(node)
            self.problems.append(Problem(f"{write_path(path)} {sentence}", hide_values(found)))
            return _FAILED
        if is_null:
            return None if _takes_null(shape) else self._refuse(path, "must not be null", node)
        if not shape.is_many:
            return self._one(shape, node, path)
        elements = node.nodes if isinstance(node, Items) else (node,)
        values = [self._one(shape, each, (*path, index)) for index, each in enumerate(elements)]
        return _FAILED if _FAILED in values else tuple(values)

    def _find_reference(self, node: Node) -> tuple[Node, str] | None:
        """Find a variable of the environment, in a value or in a list, that an ordinary option cannot be given."""
        inside = node.nodes.values() if isinstance(node, Branch) else node.nodes if isinstance(node, Items) else ()
        sentence = explain_reference(node)
        return (node, sentence) if sentence else next(filter(None, map(self._find_reference, inside)), None)

    def _absent(self, shape: FieldShape, path: Path) -> Any:
        if shape.slot is None or not shape.info.is_required() or shape.is_named:
            return _ABSENT  # pydantic has the default, or says that one is missing
        if shape.slot.default is None:
            names = ", ".join(each.name for each in self.registry.names(shape.slot.kind))
            return self._refuse(path, f"is required; choose one of {names}", None)
        return self._filled(shape.slot, Branch({}, DEFAULT, type=shape.slot.default), path)

    def _one(self, shape: FieldShape, node: Node, path: Path) -> Any:
        if not isinstance(node, Branch):
            got = show(node.value) if isinstance(node, Leaf) else "a list"
            return self._refuse(path, f"must be a section of options, got {got}", node)
        if shape.slot is not None:
            return self._filled(shape.slot, node, path)
        assert shape.component is not None  # a shape that is not plain has one or the other
        default = shape.info.default
        return self.component(
            shape.component, node, path, default=default if isinstance(default, shape.component) else None
        )

    def _filled(self, slot: Slot, branch: Branch, path: Path) -> Any:
        written = branch.nodes.get("type")
        typo = None if written else next((key for key in branch.nodes if _means_type(key, slot, self.registry)), None)
        if typo is not None:
            sentence = f": no such option. Did you mean `{write_path((*path, 'type'))}`?"
            return self._refuse((*path, typo), sentence, branch.nodes[typo])
        if written is not None and not (isinstance(written, Leaf) and written.value):
            return self._refuse((*path, "type"), "must be the name of a component", written)
        name = written.value if isinstance(written, Leaf) and written.value else slot.default
        if name is None:
            self.problems.append(Problem(self._without_type(slot, branch, path), hide_values(branch)))
            return _FAILED
        if written is not None and "://" in name and secret_variables(slot.kind, self.registry):
            sentence = explain_address(name, place=self._whole(path), kind=slot.kind, registry=self.registry)
            self.problems.append(Problem(f"{write_path(path)} {sentence}", hide_values(written)))
            return _FAILED
        try:
            cls = self.registry.load(slot.kind, name)
        except ForeignCode:
            self.foreign += addresses_in(branch, path)
            return _FAILED
        except ConfigError as error:
            place, usual = self._whole(path), self._shorthand(slot, name, path)
            said = meant_component(name, kind=slot.kind, place=place, said=error.problems[0].message, usual=usual)
            return self._refuse((*path, "type"), f": {said}", written)
        return self.component(cls, branch, path)

    def _without_type(self, slot: Slot, branch: Branch, path: Path) -> str:
        """Say which types there are; where one was written as if it were an option, how to write it."""
        names = [each.name for each in self.registry.names(slot.kind)]
        required = f"{write_path((*path, 'type'))} is required"
        named = next((key for key in branch.nodes if key in names), None)
        if named is None:
            return f"{required}; choose one of {', '.join(names)}"
        return f"{required}; for {named} write {write_type(named, self._whole(path), slot.kind, self.registry)}"

    def _shorthand(self, slot: Slot, name: str, path: Path) -> str:
        """Say how to write a name for the default type of a slot, in an experiment whose task has another default."""
        cls = self.registry.load(slot.kind, slot.default) if slot.default else None
        option = cls.shorthand if cls else None
        if (
            not cls
            or not option
            or not describe_fields(cls)[option].accepts(Leaf(name, DEFAULT), registry=self.registry)
        ):
            return ""
        written = f"`{write_path(path)}={{type: {slot.default}, {option}: {name}}}`"
        return f"If it is meant as `{option}` of the type {slot.default}, write {written}."

    def _refuse_unknown(self, cls: type[Component], branch: Branch, *, path: Path, extra: tuple[str, ...]) -> None:
        here = write_path(path)
        siblings = [
            *(KnownOption(here, *each) for each in describe_fields(cls).items()),
            *(KnownOption(here, key) for key in extra),
        ]
        unknown = {key: node for key, node in branch.nodes.items() if KnownOption(here, key) not in siblings}
        everywhere = list(self._everywhere(self.root, self.tree, ())) if unknown else []
        found = (strangers((*path, key), node, siblings=siblings) for key, node in unknown.items())
        for place, node in chain.from_iterable(found):
            hint = suggestion(write_path(place), node, siblings=siblings, everywhere=everywhere, registry=self.registry)
            self._refuse(place, f": no such option. {hint}", node)

    def _refuse(self, path: Path, sentence: str, node: Node | None) -> Any:
        space = "" if sentence.startswith(":") else " "
        self.problems.append(Problem(f"{write_path(path)}{space}{sentence}", origins(node)))
        return _FAILED

    def _whole(self, path: Path) -> str | None:
        """Name the option that a component fills alone; None for one of several in a list."""
        if not isinstance(path[-1], int):
            return write_path(path)
        listed = find(self.tree, path[:-1])
        return write_path(path[:-1]) if isinstance(listed, Items) and len(listed.nodes) == 1 else None

    def _everywhere(self, cls: type[Component], branch: Node | None, path: Path) -> Iterator[KnownOption]:
        """List every option that is legal with the types this tree names."""
        for name, shape in describe_fields(cls).items():
            yield KnownOption(write_path(path), name, shape)
            below = branch.nodes.get(name) if isinstance(branch, Branch) else None
            inner = None if shape.is_many or shape.is_named else shape.component or self._class(shape.slot, below)
            if inner is not None:
                yield from self._everywhere(inner, below, (*path, name))

    def _class(self, slot: Slot | None, node: Node | None) -> type[Component] | None:
        name = (node.type if isinstance(node, Branch) else None) or (slot.default if slot else None)
        try:
            return self.registry.load(slot.kind, name) if slot and name else None
        except ConfigError:
            return None  # reported where the tree names it


def _takes_null(shape: FieldShape) -> bool:
    return type(None) in getattr(shape.info.annotation, "__args__", ())


def _means_type(key: str, slot: Slot, registry: Registry) -> bool:
    """Tell a misspelt `type` from an option; without its type, no option of a section can be judged."""
    if nearest(key, ["type"]) is None:
        return False
    try:
        return slot.default is None or key not in describe_fields(registry.load(slot.kind, slot.default))
    except ConfigError:
        return True
