"""Small components of every kind, and a registry that knows only them."""

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PositiveInt, SkipValidation, model_validator

from burnish.catalog import Entry
from burnish.config.nodes import Branch
from burnish.config.reader import read_text
from burnish.registry import Registry
from burnish.spec.component import Component, Slot, required_members
from burnish.spec.protocols import (
    Architecture,
    DataSource,
    Metric,
    Optimizer,
    Schedule,
    Task,
    Tracker,
    Truncation,
)

_ANSWERS: Mapping[str, Any] = {
    "heads": ("any",),
    "max_positions": lambda self: None,
    "metrics": lambda self, profile: (),
}
"""What the checks across several parts ask of them."""


def able(protocol: type[Any]) -> Callable[[type], type]:
    """Give a class every member of a protocol that it lacks."""

    def give(cls: Any) -> Any:
        for member in required_members(protocol) - set(cls.model_fields):
            setattr(cls, member, _ANSWERS.get(member))
        return cls

    return give


@able(Truncation)
class Front(Component):
    """Keep the front."""


@able(Truncation)
class Ends(Component):
    """Keep both ends."""

    shorthand = "share"

    share: Annotated[float, Field(gt=0, lt=1)] = 0.5


class Cut(Component):
    """A part to leave out."""

    shorthand = "rows"

    rows: PositiveInt
    seed: int = 0


@able(Task)
class Guess(Component):
    """Guess a label.

    More words that a summary leaves out.
    """

    text: str = "text"
    labels: tuple[str, ...] | None = None
    max_length: Annotated[int, Field(ge=1, le=512)] = 128
    truncation: Annotated[SkipValidation[Truncation], Slot("truncations", default="front")]
    views: Literal[1, 3] = 1
    weights: Literal["none", "balanced"] | tuple[float, ...] = "none"


@able(Task)
class Sort(Component):
    """Sort things, and bring defaults; a plug-in's task."""

    defaults: ClassVar[Mapping[str, Any]] = {
        "model": {"type": "transformer", "name": "large"},
        "optimizer": {"type": "slide", "learning_rate": 0.5},
        "train": {"length": "7 epochs", "batch": 16},
    }


@able(Task)
class Mistaken(Component):
    """Have a default that is no option; asked for by its address."""

    defaults: ClassVar[Mapping[str, Any]] = {"train": {"lenght": "7 epochs"}}


@able(Task)
class Bundle(Component):
    """Guess several labels; asked for by its address."""

    tasks: Annotated[Mapping[str, SkipValidation[Task]], Slot("tasks")]
    scores: Annotated[Mapping[str, tuple[SkipValidation[Metric], ...]], Slot("metrics")] = {}  # pydantic copies it


@able(DataSource)
class Table(Component):
    """Read a table."""

    shorthand = "path"

    path: str | None = None
    filter: Mapping[str, str] = {}  # pydantic copies it
    cut: Cut | None = None
    cuts: tuple[Cut, ...] = ()
    header: bool = True


@able(DataSource)
class Named(Component):
    """Read a set by name."""

    set: Literal["sst2", "mrpc"]
    dir: str | None = None


@able(Architecture)
class Net(Component):
    """A network."""

    shorthand = "name"

    name: str = "small"
    layers: PositiveInt = 2
    fallback: Annotated[SkipValidation[Truncation], Slot("truncations")] | None = None


@able(Architecture)
class Line(Component):
    """A straight line."""

    bias: bool = True


@able(Optimizer)
class Down(Component):
    """Go downhill."""

    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)


@able(Optimizer)
class Slide(Component):
    """Slide downhill."""

    learning_rate: float = 0.1
    momentum: float = 0.0


@able(Schedule)
class Flat(Component):
    """Never change."""

    warmup: str = "0%"
    low: float = 0.0
    high: float = 1.0

    @model_validator(mode="after")
    def _ordered(self) -> "Flat":
        if self.low > self.high:
            raise ValueError("needs `low` to be at most `high`")
        return self


@able(Metric)
class Right(Component):
    """Count what is right."""


@able(Metric)
class Mean(Component):
    """Average something."""

    average: Literal["micro", "macro"] = "micro"


@able(Tracker)
class Watch(Component):
    """Watch."""

    every: PositiveInt = 1


class Stranger(Component):
    """Do nothing that a task does."""


HERE = __name__
CATALOG = {
    "tasks": {"guess": Entry(f"{HERE}:Guess", ("g",))},
    "data": {"files": Entry(f"{HERE}:Table"), "named": Entry(f"{HERE}:Named")},
    "models": {"transformer": Entry(f"{HERE}:Net", ("net",)), "line": Entry(f"{HERE}:Line")},
    "truncations": {"front": Entry(f"{HERE}:Front"), "ends": Entry(f"{HERE}:Ends", ("e",))},
    "optimizers": {"adamw": Entry(f"{HERE}:Down"), "slide": Entry(f"{HERE}:Slide")},
    "schedules": {"linear": Entry(f"{HERE}:Flat")},
    "metrics": {"right": Entry(f"{HERE}:Right"), "mean": Entry(f"{HERE}:Mean")},
    "trackers": {"watch": Entry(f"{HERE}:Watch")},
}


def fake_registry(*points: EntryPoint) -> Registry:
    """Know the components of this file, and those of some entry points."""

    def of_group(group: str) -> Iterable[EntryPoint]:
        return [point for point in points if point.group == group]

    return Registry(entry_points=of_group, catalog=CATALOG)


def layer(text: str, *, source: str = "base.yaml") -> Branch:
    """Read a layer from text."""
    node = read_text(text, source=source)
    assert isinstance(node, Branch)
    return node


def given_to(name: str) -> list[str]:
    """Give what a shipped experiment leaves to the user: the rows of those that are named after a driver's."""
    is_open = name.startswith(("bert/", "electra/", "wmt_transformer/")) and name != "bert/text_wiki_pretraining"
    return ["data.train=rows.jsonl"] if is_open else []
