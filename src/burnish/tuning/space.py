"""The space of a search: ranges and choices over the options of an experiment, each with its origin."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from burnish.config.nodes import Branch, Items, Leaf, Node, brief, plain, spread
from burnish.config.origins import Origin
from burnish.errors import Problem
from burnish.nearest import nearest
from burnish.spec.search import Coordinates, Pick

RANGES = ("double", "int", "log", "reverse_log")
_OPTIONS = ("type", "min", "max", "step", "count")


@dataclass(frozen=True)
class RangeParameter:
    """Numbers from `low` to `high`; a place from 0 to 1 stands for one of them, on the scale of its kind."""

    name: str
    kind: str
    low: float
    high: float
    origin: Origin
    step: float | None = None
    count: int | None = None
    within: tuple[tuple[str, int], ...] = ()
    """The options of the choices that it stands under."""

    def text_at(self, place: float) -> str:
        """Write the number at a place, to six digits, as a config would."""
        size = self._num_steps()
        if size is not None:
            value = self.low + min(int(place * size), size - 1) * (self.step or 1)
        elif self.kind == "double":
            value = self.low + place * (self.high - self.low)
        else:
            value = self._on_log_scale(place)
        return str(round(value)) if self.kind == "int" else repr(_clamp(float(f"{value:.6g}"), self.low, self.high))

    def place_of(self, text: str) -> float | None:
        """Find the place of a number; None for what is no number of this range."""
        try:
            value = float(text)
        except ValueError:
            return None
        if not self.low <= value <= self.high:
            return None
        size = self._num_steps()
        if size is not None:
            return (round((value - self.low) / (self.step or 1)) + 0.5) / size
        if self.kind == "double":
            return (value - self.low) / (self.high - self.low)
        mirrored = self.low + self.high - value if self.kind == "reverse_log" else value
        place = math.log(mirrored / self.low) / math.log(self.high / self.low)
        return 1 - place if self.kind == "reverse_log" else place

    @property
    def grid_size(self) -> int:
        """How many places a grid takes: `count`, or every step; 0 where neither says."""
        size = self._num_steps()
        return (size or 0) if self.count is None else min(self.count, size or self.count)

    def grid_place(self, number: int) -> float:
        """Give a place of the grid, which goes from end to end; a single one is the middle."""
        size, gaps = self._num_steps(), self.grid_size - 1
        number, gaps = (number, gaps) if gaps else (1, 2)
        return number / gaps if size is None else (math.floor(number * (size - 1) / gaps + 0.5) + 0.5) / size

    def ends(self) -> tuple[float, ...]:
        """The places that a check looks at."""
        return (0.0, 1.0)

    def _num_steps(self) -> int | None:
        if self.kind != "int" and self.step is None:
            return None
        return math.floor((self.high - self.low) / (self.step or 1) + 1e-9) + 1

    def _on_log_scale(self, place: float) -> float:
        if self.kind == "reverse_log":
            return self.low + self.high - self.low * math.pow(self.high / self.low, 1 - place)
        return self.low * math.pow(self.high / self.low, place)


@dataclass(frozen=True)
class ChoiceParameter:
    """One of several values or whole components; its place is the number of the option."""

    name: str
    options: "tuple[SpaceNode, ...]"
    origin: Origin
    within: tuple[tuple[str, int], ...] = ()

    def ends(self) -> tuple[float, ...]:
        """Every option is looked at."""
        return tuple(map(float, range(len(self.options))))


@dataclass(frozen=True)
class Section:
    """Options of which some may be parameters."""

    nodes: "Mapping[str, SpaceNode]"
    origin: Origin


Parameter = RangeParameter | ChoiceParameter
SpaceNode = Leaf | Items | Section | RangeParameter | ChoiceParameter


@dataclass(frozen=True)
class Settled:
    """A point of a space: where each of its parameters stands, and the options that this means."""

    point: Coordinates
    layers: tuple[Branch, ...]
    """To be laid over the experiment, in order."""
    values: Mapping[str, object]
    """By option, as JSON values."""


@dataclass(frozen=True)
class Space:
    """What is searched, by option; the first one's name comes first."""

    options: Mapping[str, SpaceNode]

    def settle(self, pick: Pick) -> Settled:
        """Walk the parameters in order, those under a choice only if it was chosen, and settle each where told."""
        point: dict[str, float] = {}

        def choose(parameter: Parameter) -> float:
            point[parameter.name] = pick(parameter)
            return point[parameter.name]

        nodes = {name: _settle(node, choose) for name, node in self.options.items()}
        values = {name: _json(node) for name, node in nodes.items()}
        return Settled(point, tuple(_layer(name, node) for name, node in nodes.items()), values)

    def at(self, point: Coordinates) -> Settled:
        """Settle a recorded point."""
        return self.settle(lambda parameter: point[parameter.name])

    def parameters(self) -> list[Parameter]:
        """List every parameter, also those under choices."""
        return [each for node in self.options.values() for each in _parameters(node)]

    @property
    def grid_size(self) -> int:
        """How many points the whole product has."""
        return prod(map(count_points, self.options.values()))

    def grid_point(self, number: int) -> Coordinates:
        """Give a point of the product: the last parameter changes fastest, after a choice what stands under it."""
        return _point_of(tuple(self.options.values()), number)

    def probes(self) -> Iterator[Settled]:
        """Give points that have between them both ends of every range and every option of every choice."""
        for parameter in self.parameters():
            for place in parameter.ends():
                chosen = {**dict(parameter.within), parameter.name: place}
                yield self.settle(lambda each, chosen=chosen: chosen.get(each.name, 0.0))  # type: ignore[misc]  # bound at once

    def find(self, values: Mapping[str, object]) -> Coordinates | None:
        """Find the point whose options have these values; None if the space has no such point."""
        point: dict[str, float] = {}
        is_known = all(_locate(node, values.get(name), point) for name, node in self.options.items())
        return point if is_known else None

    def to_json(self) -> dict[str, object]:
        """Write the space for the record of a study, as it was meant."""
        return {name: _plain(node) for name, node in self.options.items()}


def read_space(node: Branch) -> tuple[Space, list[Problem]]:
    """Read a space from a config; what is wrong with it comes with file and line, all at once."""
    problems: list[Problem] = []
    options: dict[str, SpaceNode] = {}
    for name, each in _flatten(node, ""):
        found: list[Problem] = []
        read = _SpaceReader(found).read(each, name)
        options |= {} if found else {name: read}  # what is wrong in itself is not held against the experiment too
        problems += found
    return Space(options), problems


def _flatten(node: Branch, path: str) -> Iterator[tuple[str, Node]]:
    """Give options by their dotted paths: sections without a type may be nested or dotted."""
    for key, each in node.nodes.items():
        name = f"{path}.{key}" if path else key
        is_section = isinstance(each, Branch) and not {"type", "min", "max"} & each.nodes.keys()
        if is_section and isinstance(each, Branch):
            yield from _flatten(each, name)
        else:
            yield name, each


@dataclass(frozen=True)
class _SpaceReader:
    problems: list[Problem]

    def read(self, node: Node, name: str, within: tuple[tuple[str, int], ...] = ()) -> SpaceNode:
        if isinstance(node, Items):
            return self._choice(node, name, within)
        if not isinstance(node, Branch):
            return node
        written = node.nodes.get("type")
        kind = written.value if isinstance(written, Leaf) else None
        if kind in RANGES:
            return self._range(node, name, within=within, kind=str(kind))
        if {"min", "max"} & node.nodes.keys():
            close = nearest(kind or "", RANGES)
            hint = f" Did you mean `{close}`?" if close else ""
            self._refuse(node, f"tune.space.{name}.type must be one of {', '.join(RANGES)}, got {kind!r}.{hint}")
            return Leaf(None, node.origin)
        nodes = {key: self.read(each, f"{name}.{key}", within) for key, each in node.nodes.items()}
        return Section(nodes, node.origin)

    def _choice(self, node: Items, name: str, within: tuple[tuple[str, int], ...]) -> SpaceNode:
        if not node.nodes:
            self._refuse(node, f"tune.space.{name} is an empty list; a choice needs at least one value")
        written = [json.dumps(plain(each), sort_keys=True) for each in node.nodes]  # `brief` cuts what is long
        nodes = dict(zip(written, node.nodes, strict=True))
        for text in (text for text, times in Counter(written).items() if times > 1):
            self._refuse(node, f"tune.space.{name} lists {brief(nodes[text])} twice; keep one")
        options = (
            each if isinstance(each, Items) else self.read(each, f"{name}[{at}]", (*within, (name, at)))
            for at, each in enumerate(node.nodes)
        )
        return ChoiceParameter(name, tuple(options), node.origin, within)

    def _range(self, node: Branch, name: str, *, within: tuple[tuple[str, int], ...], kind: str) -> SpaceNode:
        before = len(self.problems)
        for key in node.nodes.keys() - set(_OPTIONS):
            close = nearest(key, _OPTIONS)
            hint = f"Did you mean `{close}`?" if close else f"Options are {', '.join(_OPTIONS)}."
            self._refuse(node.nodes[key], f"tune.space.{name}.{key}: no such option of a range. {hint}")
        low, high = (self._number(node, name, key=key, kind=kind) for key in ("min", "max"))
        step = self._number(node, name, key="step", kind=kind) if "step" in node.nodes else None
        count = self._number(node, name, key="count", kind="int") if "count" in node.nodes else None
        if low is not None and high is not None:
            self._judge(node, name, kind=kind, low=low, high=high, step=step, count=count)
        if len(self.problems) > before or low is None or high is None:
            return Leaf(None, node.origin)
        whole = None if count is None else int(count)
        return RangeParameter(name, kind, low, high, node.origin, step=step, count=whole, within=within)

    def _judge(
        self, node: Branch, name: str, *, kind: str, low: float, high: float, step: float | None, count: float | None
    ) -> None:
        place = f"tune.space.{name}"
        if low >= high:
            self._refuse(node, f"{place} is an empty range: min {low:g} must be below max {high:g}")
        if kind in ("log", "reverse_log") and low <= 0:
            self._refuse(node.nodes["min"], f"{place}.min must be more than 0 on a log scale, got {low:g}")
        if step is not None and (kind in ("log", "reverse_log") or not 0 < step <= max(high - low, 0)):
            what = (
                "has no place on a log scale; use count" if "log" in kind else "must be more than 0 and fit the range"
            )
            self._refuse(node.nodes["step"], f"{place}.step {what}, got {step:g}")
        if count is not None and count < 1:
            self._refuse(node.nodes["count"], f"{place}.count must be at least 1, got {count:g}")

    def _number(self, node: Branch, name: str, *, key: str, kind: str) -> float | None:
        leaf = node.nodes.get(key)
        if leaf is None:
            self._refuse(node, f"tune.space.{name}.{key} is required: a range has min and max")
            return None
        wanted = "a whole number" if kind == "int" else "a number"
        try:
            value = float(leaf.value or "") if isinstance(leaf, Leaf) else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or (kind == "int" and not value.is_integer()):
            self._refuse(leaf, f"tune.space.{name}.{key} must be {wanted}, got {brief(leaf)}")
            return None
        return value

    def _refuse(self, node: Node, sentence: str) -> None:
        self.problems.append(Problem(sentence, node.origin.lines()))


def _settle(node: SpaceNode, choose: Callable[[Parameter], float]) -> Node:
    if isinstance(node, RangeParameter):
        return Leaf(node.text_at(choose(node)), node.origin)
    if isinstance(node, ChoiceParameter):
        return _settle(node.options[int(choose(node))], choose)
    if isinstance(node, Section):
        return Branch({key: _settle(each, choose) for key, each in node.nodes.items()}, node.origin)
    return node


def _parameters(node: SpaceNode) -> Iterator[Parameter]:
    if isinstance(node, RangeParameter | ChoiceParameter):
        yield node
    inner = (
        node.options if isinstance(node, ChoiceParameter) else node.nodes.values() if isinstance(node, Section) else ()
    )
    for each in inner:
        yield from _parameters(each)


def count_points(node: SpaceNode) -> int:
    """Count the points that a grid takes from a part of a space."""
    if isinstance(node, RangeParameter):
        return node.grid_size
    if isinstance(node, ChoiceParameter):
        return sum(map(count_points, node.options))
    return prod(map(count_points, node.nodes.values())) if isinstance(node, Section) else 1


def _point_of(nodes: Sequence[SpaceNode], number: int) -> dict[str, float]:
    point: dict[str, float] = {}
    for node in reversed(nodes):
        number, at = divmod(number, count_points(node))
        point = {**_place_in(node, at), **point}
    return point


def _place_in(node: SpaceNode, number: int) -> dict[str, float]:
    if isinstance(node, RangeParameter):
        return {node.name: node.grid_place(number)}
    if isinstance(node, Section):
        return _point_of(tuple(node.nodes.values()), number)
    for at, option in enumerate(node.options if isinstance(node, ChoiceParameter) else ()):
        if number < (size := count_points(option)):
            return {node.name: float(at), **_place_in(option, number)}  # type: ignore[union-attr]  # it is a choice
        number -= size
    return {}


def _locate(node: SpaceNode, value: object, point: dict[str, float]) -> bool:
    """Find where a value stands, and note it; tell whether it does."""
    if isinstance(node, RangeParameter):
        place = node.place_of(str(value))
        point.update({} if place is None else {node.name: place})
        return place is not None
    if isinstance(node, ChoiceParameter):
        for number, option in enumerate(node.options):
            below: dict[str, float] = {}
            if _locate(option, value, below):
                point.update({node.name: float(number), **below})
                return True
        return False
    if isinstance(node, Section):
        known = value if isinstance(value, Mapping) else {"type": value}
        return all(_locate(each, known.get(key), point) for key, each in node.nodes.items())
    constant = _json(node)
    return value == constant or (isinstance(value, Mapping) and value.get("type") == constant)


def _layer(name: str, node: Node) -> Branch:
    for key in reversed(spread(name).split(".")):
        node = Branch({key: node}, node.origin)
    assert isinstance(node, Branch)  # the loop ran at least once
    return node


def _json(node: Node) -> object:
    """Give what was written as JSON values: numbers and truth where the text is one."""
    value = plain(node)
    if isinstance(node, Leaf):
        return read_scalar(node.value)
    if isinstance(node, Items):
        return [_json(each) for each in node.nodes]
    return {key: _json(each) for key, each in node.nodes.items()} if isinstance(node, Branch) else value


def read_scalar(text: str | None) -> object:
    """Give a scalar as a JSON value: a number or truth where the text is one."""
    if text is None or text in ("true", "false"):
        return None if text is None else text == "true"
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if math.isfinite(number) else text
    return text


def _plain(node: SpaceNode) -> object:
    if isinstance(node, RangeParameter):
        known = {"type": node.kind, "min": node.low, "max": node.high, "step": node.step, "count": node.count}
        return {key: value for key, value in known.items() if value is not None}
    if isinstance(node, ChoiceParameter):
        return [_plain(each) for each in node.options]
    if isinstance(node, Section):
        return {key: _plain(each) for key, each in node.nodes.items()}
    return _json(node)


def _clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
