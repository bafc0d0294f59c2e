"""Guesses which option was meant by a key that does not exist."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from burnish.config.foreign import Foreign, find_answer, find_foreign
from burnish.config.nodes import Branch, Leaf, Node, Path, write_path
from burnish.config.shape import FieldShape, describe_fields
from burnish.config.sources import read_value
from burnish.errors import BurnishError
from burnish.nearest import nearest
from burnish.registry import Registry
from burnish.spec.component import Component
from burnish.spec.experiment import Experiment
from burnish.spec.secret import Secret

_LIKENESS_ELSEWHERE = 0.8
"""An option of another section is offered only if it can hardly be chance that it looks alike."""
_UNITS = ("steps", "epochs")
"""What a bare number is most likely meant to count."""
_SEPARATE = ("tune.", "launch.")
"""Sections that are no part of an experiment."""
_SLACK, _WEBHOOK, _APPRISE = "slack", "webhook", "apprise"
_END_OF_NAME = "'."
"""Ends the first sentence of the registry's refusal; the guess by spelling follows."""


@dataclass(frozen=True)
class KnownOption:
    """A legal option: the section it belongs to, its key, and what it takes."""

    section: str
    key: str
    shape: FieldShape | None = field(default=None, compare=False)
    """None for the `type` of a section."""

    @property
    def path(self) -> str:
        """Write the option as a user would on the command line."""
        return f"{self.section}.{self.key}" if self.section else self.key

    def accepts(self, node: Node, *, registry: Registry) -> bool:
        """Tell whether a value is of its type."""
        return isinstance(node, Leaf) if self.shape is None else self.shape.accepts(node, registry=registry)


def suggestion(
    path: str, node: Node, *, siblings: Sequence[KnownOption], everywhere: Sequence[KnownOption], registry: Registry
) -> str:
    """Say what was probably meant by an unknown key, or else what its section takes."""
    key = path.rpartition(".")[2]

    def near(options: Sequence[KnownOption], likeness: float) -> list[str]:
        close = nearest(key, [option.key for option in options], likeness=likeness)
        found = next((option for option in options if option.key == close), None)
        if found is None or found.accepts(node, registry=registry):
            return [found.path] if found else []
        return _with_units(found, node, registry=registry)

    slips = near(siblings, 1.0)
    given = node.value if isinstance(node, Leaf) else None
    entry = find_answer(path, given)
    if entry is not None:
        is_separate = bool(entry.ours) and entry.ours[0].startswith(_SEPARATE)
        meant = [] if is_separate else [*slips, *assignments(entry, given, options=everywhere, registry=registry)]
        return " ".join(filter(None, [_did_you_mean(meant) or _elsewhere(entry, given), entry.explain(given)]))
    same = sorted((each for each in everywhere if key == each.key or path == each.path), key=_depth)
    written = [each for option in same for each in _write(option, node, registry=registry)]
    meant = [*slips, *written] or near(siblings, 0.6) or near(everywhere, _LIKENESS_ELSEWHERE)
    return _did_you_mean(meant) or f"Options here are {', '.join(option.key for option in siblings) or 'none'}."


def strangers(path: Path, node: Node, *, siblings: Sequence[KnownOption]) -> list[tuple[Path, Node]]:
    """List what has its own answer in an unknown section, and the section itself if anything is left."""
    is_ours = nearest(str(path[-1]), [option.key for option in siblings], likeness=1.0) is not None  # misspelt
    inside = list(_leaves(path, node)) if isinstance(node, Branch) and not is_ours else []
    known = [(place, leaf) for place, leaf in inside if find_foreign(write_path(place)) is not None]
    return known if known and len(known) == len(inside) else [*known, (path, node)]


def assignments(entry: Foreign, given: str | None, *, options: Sequence[KnownOption], registry: Registry) -> list[str]:
    """Write those of our options that are legal here, with the value that was given if it fits."""
    legal = list(dict.fromkeys(option.path for ours in entry.ours for option in options if option.path == ours))
    written = entry.translate(given)
    fitting = {option.path for option in find_fitting(entry, written, options=options, registry=registry)}
    return [assignment(path, written if path in fitting else None) for path in legal]


def find_fitting(
    entry: Foreign, written: str | None, *, options: Sequence[KnownOption], registry: Registry
) -> list[KnownOption]:
    """List those of our options of an entry whose type takes a value, written as on the command line."""
    try:
        node = read_value(written, source="") if written is not None else None
    except BurnishError:  # no YAML, so it fits nowhere
        return []
    legal = (option for ours in entry.ours for option in options if option.path == ours)
    return [option for option in legal if node is not None and option.accepts(node, registry=registry)]


def assignment(path: str, value: str | None) -> str:
    """Write an override as it has to be typed; the option alone if there is no value to show."""
    if value is None:
        return path
    if shlex.quote(value) == value:
        return f"{path}={value}"
    return f'{path}="{value}"' if not set(value) & set('"$`\\') else f"{path}={shlex.quote(value)}"


def meant_component(name: str, *, kind: str, place: str | None, said: str, usual: str) -> str:
    """Explain a name that no component has by what it is called here, if the table knows, instead of by spelling.

    A name that is like no other may be what the usual type has as its shorthand, such as a pretrained model.
    """
    entry = find_foreign(name, of=kind)
    if entry is None:
        return f"{said} {usual}" if usual and "Did you mean" not in said else said
    hint = _did_you_mean(assignment(place, ours) if place else ours for ours in entry.ours)
    return " ".join(filter(None, [f"{said.partition(_END_OF_NAME)[0]}{_END_OF_NAME}", hint, entry.explain(name)]))


def write_type(name: str, place: str | None, kind: str, registry: Registry) -> str:
    """Write the choice of a component, and where its secrets are kept, such as the address of a webhook."""
    variables = secret_variables(kind, registry).get(name, ())
    written = f"`{assignment(place, name)}`" if place else f"`{{type: {name}}}`"
    if not variables:
        return written
    what = "addresses" if name == _APPRISE else "address"
    return f"{written}, with the {what} in {' and '.join(variables)}: `export {variables[0]}=…`"


def explain_address(address: str, *, place: str | None, kind: str, registry: Registry) -> str:
    """Say what to write in place of an address, which is a secret, where the name of a component belongs."""
    parts = urlsplit(address)
    name = _WEBHOOK if parts.scheme in ("http", "https") else _APPRISE
    if "slack" in (parts.hostname or ""):
        name = _SLACK
    return f"takes a name and not an address, which is a secret; write {write_type(name, place, kind, registry)}"


def secret_variables(kind: str, registry: Registry) -> dict[str, tuple[str, ...]]:
    """Name the variables of the environment in which components of a kind find their secrets."""
    found: dict[str, tuple[str, ...]] = {}
    for listing in registry.names(kind):
        with suppress(BurnishError):  # a broken plug-in costs its own advice only
            defaults = [field.default for field in registry.load(kind, listing.name).model_fields.values()]
            secrets = [each for value in defaults for each in (value if isinstance(value, tuple) else (value,))]
            variables = [each.variable for each in secrets if isinstance(each, Secret) and each.variable]
            if variables:
                found[listing.name] = tuple(variables)
    return found


def every_option(registry: Registry) -> Iterator[KnownOption]:
    """List every option of every type that a section may have."""
    return _options(Experiment, (), kinds=(), registry=registry)


def _options(cls: type[Component], path: Path, *, kinds: tuple[str, ...], registry: Registry) -> Iterator[KnownOption]:
    for name, shape in describe_fields(cls).items():
        yield KnownOption(write_path(path), name, shape)
        kind = shape.slot.kind if shape.slot else ""
        if shape.is_many or shape.is_named or kind in kinds:
            continue  # `kinds` keeps an optimizer made of two optimizers from going down for ever
        for each in _classes(kind, registry) if kind else filter(None, [shape.component]):
            yield from _options(each, (*path, name), kinds=(*kinds, kind) if kind else kinds, registry=registry)


def _classes(kind: str, registry: Registry) -> Iterator[type[Component]]:
    for listing in registry.names(kind):
        with suppress(BurnishError):  # a broken plug-in costs its own options only
            yield registry.load(kind, listing.name)


def _leaves(path: Path, node: Node) -> Iterator[tuple[Path, Node]]:
    if not isinstance(node, Branch):
        yield path, node
        return
    for key, each in node.nodes.items():
        yield from _leaves((*path, key), each)


def _write(option: KnownOption, node: Node, *, registry: Registry) -> list[str]:
    """Write an option with the value that was given to its key elsewhere; a number that lacks its unit, with two."""
    if isinstance(node, Leaf) and node.value is not None and option.accepts(node, registry=registry):
        return [assignment(option.path, node.value)]
    return _with_units(option, node, registry=registry) or [option.path]


def _with_units(option: KnownOption, node: Node, *, registry: Registry) -> list[str]:
    values = [f"{node.value} {unit}" for unit in _UNITS] if isinstance(node, Leaf) else []
    return [
        assignment(option.path, value)
        for value in values
        if option.accepts(read_value(value, source=""), registry=registry)
    ]


def _did_you_mean(meant: Iterable[str]) -> str:
    shown = [f"`{each}`" for each in dict.fromkeys(meant)][:2]
    return f"Did you mean {' or '.join(shown)}?" if shown else ""


def _elsewhere(entry: Foreign, given: str | None) -> str:
    """Point to what is no option of this experiment: a flag, a command, or an option of other types."""
    ours = next(iter(entry.ours), "")
    if ours.startswith("--"):
        return f"It is a flag here: `{' '.join(filter(None, [ours, entry.translate(given)]))}`."
    if ours.startswith("burnish "):
        written = entry.translate(given) or ""
        return f"It is a command here: `{written if written.startswith('burnish ') else ours}`."
    if ours.startswith(_SEPARATE):
        return f"It is `{ours}`, in a separate file next to the experiment."
    return f"It would be `{ours}`, which not every {ours.partition('.')[0]} takes." if ours else ""


def _depth(option: KnownOption) -> int:
    return option.path.count(".")
