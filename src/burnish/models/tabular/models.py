"""The models over tables that an experiment can name, with their options; torch is imported only when one is built."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from burnish.errors import ConfigError, Problem
from burnish.spec.component import Component
from burnish.spec.interval import Interval
from burnish.spec.protocols import Architecture, Assets
from burnish.spec.values import HeadSpec, TableInputs

if TYPE_CHECKING:
    from burnish.models.tabular.blend_torch import Blend
    from burnish.models.tabular.boosted_trees_torch import BoostedTrees
    from burnish.models.tabular.networks_torch import (
        DeepNetwork,
        LinearNetwork,
        TableNetwork,
        TabMNetwork,
        WideDeepNetwork,
    )
    from burnish.spec.experiment import TrainPolicy


Dropout = Annotated[float, Field(ge=0, lt=1)]

CategorySize = PositiveInt | Literal["one_hot"]

_LARGEST_AUTO = 64
"""Without a limit, a column of a million ids would get a thousand numbers each."""
_WIDEST_ONE_HOT = 4096
"""Numbers of a row that one-hot columns may become in all: a batch of 1,024 rows holds 16 MB of them, mostly zeros."""
_WIDEST_SHOWN = 3
_FOLDS_OF_FEW_ROWS, _MOST_ROWS_FOR_FOLDS = 5, 10_000
"""With few rows, that each is learned from matters more than the time that folds take."""

MemberName = Literal["linear", "lightgbm", "catboost", "tab_m"]


@dataclass(frozen=True)
class NoAssets:
    """What a model over a table brings besides weights: nothing."""

    max_positions: None = None
    digest: str = "table"

    def save(self, directory: Path) -> None:
        """Write nothing."""


class NumberEmbedding(Component):
    """How a number becomes several: as it is, by the bins it passes, or by waves of learned lengths."""

    shorthand = "kind"

    kind: Literal["none", "piecewise_linear", "periodic"] = "none"
    size: PositiveInt = 16
    """Numbers that each number becomes."""
    frequencies: PositiveInt = 24
    """Waves of each number, for `periodic`."""
    scale: PositiveFloat = 0.1
    """The spread of the first frequencies, for `periodic`: more follows finer detail."""

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        if self.kind == "none":
            yield f"{place}.size", f"with `{place}.kind: none`, a number stays as it is"
        if self.kind != "periodic":
            why = f"only `{place}.kind: periodic` makes waves of numbers"
            yield f"{place}.frequencies", why
            yield f"{place}.scale", why
        if self.kind != "piecewise_linear":
            yield "task.bins", f"only `{place}.kind: piecewise_linear` puts numbers into bins"


_RATES: Mapping[str, Any] = {
    "optimizer.learning_rate": {"type": "log", "min": "3e-4", "max": "1e-2"},
    "optimizer.weight_decay": {"type": "log", "min": "1e-4", "max": "1e-1"},
}


class TableModel(Architecture):
    """A model over the numbers, categories and wide ids of a row."""

    heads: ClassVar[tuple[str, ...]] = ("tabular",)
    has_wide_part: ClassVar[bool] = False
    """Whether crosses of columns are learned from."""

    def max_positions(self) -> None:
        """Tell that rows have no length."""

    def assets(self) -> NoAssets:
        return NoAssets()

    def save(self, network: TableNetwork, directory: Path) -> None:
        from burnish.models.tabular.networks_torch import save_network

        save_network(network, directory)

    def load(self, directory: Path, head: HeadSpec) -> TableNetwork:
        from burnish.models.tabular.networks_torch import load_network

        return load_network(self.network(head, self.assets()), directory)


class Layered(TableModel):
    """A network of layers over embedded numbers and categories."""

    search_space: ClassVar[Mapping[str, Any]] = {
        **_RATES,
        "model.first": [64, 128, 256],
        "model.layers": [1, 2, 3],
        "model.dropout": {"type": "double", "min": "0", "max": "0.4"},
    }

    numbers: NumberEmbedding = NumberEmbedding()
    category_size: CategorySize | Mapping[str, CategorySize] | None = None
    """Numbers that each category becomes, or `one_hot`, for all columns or by column; by default the square root of how
    many ids the column has, rounded up."""
    hidden: tuple[PositiveInt, ...] | None = None
    """Widths of the layers, like [256, 128]; by default as `first`, `scale` and `layers` say."""
    first: PositiveInt = 256
    scale: PositiveFloat = 1.0
    """Each layer is this much as wide as the one before it, and at least 2."""
    layers: PositiveInt = 3
    batch_norm: bool = False
    dropout: Dropout = 0.1

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        if self.hidden is not None:
            for name in ("first", "scale", "layers"):
                yield f"{place}.{name}", f"`{place}.hidden` states the width of each layer"
        elif self.layers == 1:
            yield f"{place}.scale", f"`{place}.layers` is 1, and no second layer follows the first"
        if not self.has_wide_part:
            yield "task.crosses", "crosses are features of a wide part, which `linear` and `wide_deep` have"

    def widths(self) -> tuple[int, ...]:
        """Return the width of each layer."""
        if self.hidden is not None:
            return self.hidden
        return tuple(max(2, int(self.first * self.scale**number)) for number in range(self.layers))

    def category_sizes(self, inputs: TableInputs) -> tuple[int | None, ...]:
        """Return how many numbers embed a category of each column; None where it is one-hot."""
        asked = self.category_size
        by_column = asked if isinstance(asked, Mapping) else dict.fromkeys(inputs.categories, asked)
        counts = dict(zip(inputs.categories, inputs.cardinalities, strict=True))
        problems = [
            f"model.category_size.{name}: there is no category of this name; there are {', '.join(counts) or 'none'}"
            for name in by_column
            if name not in counts
        ]
        one_hot = {name: count for name, count in counts.items() if by_column.get(name) == "one_hot"}
        if (total := sum(one_hot.values())) > _WIDEST_ONE_HOT:
            widest = sorted(one_hot, key=one_hot.__getitem__, reverse=True)
            shown = ", ".join(f"{name} {one_hot[name]:,}" for name in widest[:_WIDEST_SHOWN])
            problems.append(
                f"model.category_size: one_hot would make {total:,} numbers of each row, and {_WIDEST_ONE_HOT:,} is "
                f"the most (widest: {shown}); name columns of few ids alone, like {{{widest[-1]}: one_hot}}, or give "
                "the others fewer ids by `max_size` or `buckets`"
            )
        if problems:
            raise ConfigError([Problem(each) for each in problems])
        embedded = {name: min(_LARGEST_AUTO, math.isqrt(count - 1) + 1) for name, count in counts.items()}
        sizes = [by_column.get(name) or embedded[name] for name in inputs.categories]
        return tuple(None if size == "one_hot" else size for size in sizes)


def inputs_of(head: HeadSpec) -> TableInputs:
    """Return what a network is fed; only a task over tables may ask for one."""
    assert head.inputs is not None, f"a head of kind {head.kind} does not say what the network is fed"
    return head.inputs


class Linear(TableModel):
    """A linear model over numbers, categories and crosses: fast and easy to interpret."""

    search_space: ClassVar[Mapping[str, Any]] = {
        **_RATES,
        "optimizer.learning_rate": {"type": "log", "min": "1e-3", "max": "1e-1"},
    }
    has_wide_part: ClassVar[bool] = True

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        yield "task.bins", "a linear model takes numbers as they are"

    def network(self, head: HeadSpec, assets: Assets) -> LinearNetwork:
        from burnish.models.tabular.networks_torch import LinearNetwork

        return LinearNetwork(head)


class Deep(Layered):
    """A multilayer perceptron over embedded categories and numbers."""

    def network(self, head: HeadSpec, assets: Assets) -> DeepNetwork:
        from burnish.models.tabular.networks_torch import DeepNetwork

        return DeepNetwork(self, head)


class WideDeep(Layered):
    """Wide & Deep: a linear model that memorises crosses plus a network that generalises."""

    has_wide_part: ClassVar[bool] = True

    numbers: NumberEmbedding = NumberEmbedding(kind="piecewise_linear")

    def network(self, head: HeadSpec, assets: Assets) -> WideDeepNetwork:
        from burnish.models.tabular.networks_torch import WideDeepNetwork

        return WideDeepNetwork(self, head)


class TabM(Layered):
    """TabM: an ensemble of small neural networks that share most weights.

    The defaults are meant to need no search. A prediction is the mean of the members' predictions.
    """

    members: PositiveInt = 16
    adapters: Literal["every_layer", "first"] = "every_layer"
    """Where members differ: in every layer, or only in how they see the inputs (and in their outputs)."""
    numbers: NumberEmbedding = NumberEmbedding(kind="piecewise_linear")
    first: PositiveInt = 128
    layers: PositiveInt = 2
    dropout: Dropout = 0.0

    def network(self, head: HeadSpec, assets: Assets) -> TabMNetwork:
        from burnish.models.tabular.networks_torch import TabMNetwork

        return TabMNetwork(self, head)


class GrownModel(TableModel):
    """A model that grows by steps over the whole table, instead of learning from batches."""

    is_grown: ClassVar[bool] = True

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        for name in ("batch", "accumulate"):
            yield f"train.{name}", "every step sees all rows at once"
        for name in ("recompute", "clip", "clip_tensor", "clip_value"):
            yield f"train.{name}", "it has no gradients to keep or to clip"
        yield "train.ema", "it has no weights to average"
        for name in ("loss_limit", "recovery"):
            yield f"train.{name}", "no step is taken back"


class Gbdt(GrownModel):
    """Gradient-boosted trees (LightGBM): fast and hard to beat on small tables."""

    extras: ClassVar[tuple[str, ...]] = ("trees",)
    search_space: ClassVar[Mapping[str, Any]] = {
        "model.learning_rate": {"type": "log", "min": "0.01", "max": "0.3"},
        "model.leaves": {"type": "int", "min": "4", "max": "128"},
        "model.least_rows": {"type": "int", "min": "2", "max": "100"},
        "model.l2": {"type": "log", "min": "1e-3", "max": "10"},
    }

    rounds: PositiveInt = 2000
    """Trees at most (for several classes, of each class)."""
    evaluate_every: PositiveInt = 10
    """Rounds between two looks at the validation rows."""
    patience: PositiveInt | None = 5
    """Stop after this many looks without a better score."""
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 0.05
    leaves: Annotated[int, Field(ge=2, le=131072)] = 31
    """Leaves of a tree."""
    least_rows: Annotated[int, Field(ge=1, lt=2**31)] = 20
    """Rows in a leaf at least."""
    l2: NonNegativeFloat = 0.0
    """Pulls the values of leaves towards zero."""

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        yield "optimizer", f"trees are grown without an optimizer; `{place}.learning_rate` is their rate"
        yield "schedule", f"the rate of trees stays as it is; `{place}.learning_rate` says it"
        yield "train.length", f"`{place}.rounds` says how many trees are grown"
        yield "train.evaluate_every", f"`{place}.evaluate_every` counts the rounds between two looks at validation"
        yield "train.checkpoint_every", f"checkpoints are saved every `{place}.evaluate_every` rounds"
        yield "train.patience", f"`{place}.patience` counts the looks at validation"
        yield "task.bins", "trees find the borders of numbers themselves"
        yield "task.crosses", "crosses are features of a wide part, which `linear` and `wide_deep` have"
        yield from super().unused_options(place)

    def policy(self, asked: TrainPolicy, *, num_rows: int) -> TrainPolicy:
        look = Interval(self.evaluate_every, "steps")
        return asked.model_copy(
            update={
                "length": Interval(self.rounds, "steps"),
                "evaluate_every": look,
                "checkpoint_every": look,
                "patience": self.patience,
            }
        )

    def usual_rate(self, network: object) -> float:
        return self.learning_rate

    def network(self, head: HeadSpec, assets: Assets) -> BoostedTrees:
        from burnish.models.tabular.boosted_trees_torch import BoostedTrees

        return BoostedTrees(self, head)

    def save(self, network: TableNetwork, directory: Path) -> None:
        from burnish.models.tabular.boosted_trees_torch import save_trees

        save_trees(network, directory)

    def load(self, directory: Path, head: HeadSpec) -> BoostedTrees:
        from burnish.models.tabular.boosted_trees_torch import load_trees

        return load_trees(self.network(head, self.assets()), directory)


class Auto(GrownModel):
    """A blend of linear models, LightGBM and CatBoost, weighed by the rows that their folds held out."""

    search_space: ClassVar[Mapping[str, Any]] = {"model.folds": [1, 5, 10]}

    members: tuple[MemberName, ...] | Literal["auto"] = "auto"
    """What is blended; `auto` takes linear, lightgbm and catboost, as far as their packages are installed."""
    folds: PositiveInt | Literal["auto"] = "auto"
    """Folds of the training rows that each member is fitted to; 1 learns from all of them and weighs the members on
    the validation rows. `auto` is 5, and 1 with more than 10,000 training rows."""
    rounds: PositiveInt = 25
    """Rounds of greedy selection, each of which adds to the weight of one member."""

    @property
    def member_names(self) -> tuple[str, ...]:
        """The members to fit, in order."""
        return ("linear", "lightgbm", "catboost") if self.members == "auto" else self.members

    def folds_for(self, num_rows: int) -> int:
        """Settle the number of folds for so many training rows."""
        if self.folds == "auto":
            return _FOLDS_OF_FEW_ROWS if num_rows <= _MOST_ROWS_FOR_FOLDS else 1
        return min(self.folds, max(1, num_rows // 2))

    def unused_options(self, place: str) -> Iterable[tuple[str, str]]:
        for name in ("optimizer", "schedule"):
            yield name, "each member is fitted in its own way"
        yield "train.length", "each member is fitted to its end"
        for name in ("evaluate_every", "checkpoint_every"):
            yield f"train.{name}", "every member is scored, and every fit is saved"
        yield "train.patience", "each member stops by the rows that its fold held out"
        if "tab_m" not in self.member_names:
            yield "task.bins", "none of the members puts numbers into bins as `tab_m` does"
        if "linear" not in self.member_names:
            yield "task.crosses", "crosses are features of the linear member"
        yield from super().unused_options(place)

    def policy(self, asked: TrainPolicy, *, num_rows: int) -> TrainPolicy:
        num_folds = self.folds_for(num_rows)
        return asked.model_copy(
            update={
                "length": Interval(len(self.member_names) * num_folds, "steps"),
                "evaluate_every": Interval(num_folds, "steps"),
                "checkpoint_every": Interval(1, "steps"),
                "patience": None,
            }
        )

    def network(self, head: HeadSpec, assets: Assets) -> Blend:
        from burnish.models.tabular.blend_torch import Blend

        return Blend(self, head)

    def save(self, network: TableNetwork, directory: Path) -> None:
        from burnish.models.tabular.blend_torch import Blend

        assert isinstance(network, Blend), "a blend saves a blend"
        network.save_members(directory)

    def load(self, directory: Path, head: HeadSpec) -> Blend:
        network = self.network(head, self.assets())
        network.load_members(directory)
        return network
