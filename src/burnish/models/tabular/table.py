"""What networks over a table share: options of embeddings and layers, no files of their own, one way to be saved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from burnish.spec.component import Component
from burnish.spec.protocols import Architecture
from burnish.spec.values import HeadSpec, TableInputs

if TYPE_CHECKING:
    from burnish.models.tabular.table_torch import TableNetwork

Dropout = Annotated[float, Field(ge=0, lt=1)]

_LARGEST_AUTO = 64
"""Without a limit, a column of a million ids would get a thousand numbers each."""


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


class TableModel(Architecture):
    """A model over the numbers, categories and wide ids of a row."""

    heads: ClassVar[tuple[str, ...]] = ("tabular",)

    def max_positions(self) -> None:
        """Tell that rows have no length."""

    def assets(self) -> NoAssets:
        """Give nothing to load."""
        return NoAssets()

    def save(self, network: TableNetwork, directory: Path) -> None:
        """Write weights as safetensors, and what the network is fed as JSON."""
        from burnish.models.tabular.table_torch import save_network

        save_network(network, directory)

    def load(self, directory: Path, head: HeadSpec) -> TableNetwork:
        """Read back what `save` wrote."""
        from burnish.models.tabular.table_torch import load_network

        return load_network(self.network(head, self.assets()), directory)


class Layered(TableModel):
    """A network of layers over embedded numbers and categories."""

    numbers: NumberEmbedding = NumberEmbedding()
    category_size: PositiveInt | None = None
    """Numbers that each category becomes; by default the square root of how many ids its column has, rounded up."""
    hidden: tuple[PositiveInt, ...] | None = None
    """Widths of the layers, like [256, 128]; by default as `first`, `scale` and `layers` say."""
    first: PositiveInt = 256
    scale: PositiveFloat = 1.0
    """Each layer is this much as wide as the one before it, and at least 2."""
    layers: PositiveInt = 3
    batch_norm: bool = False
    dropout: Dropout = 0.1

    def widths(self) -> tuple[int, ...]:
        """Give the width of each layer."""
        if self.hidden is not None:
            return self.hidden
        return tuple(max(2, int(self.first * self.scale**number)) for number in range(self.layers))

    def category_sizes(self, inputs: TableInputs) -> tuple[int, ...]:
        """Give the numbers that a category of each column becomes."""
        if self.category_size is not None:
            return (self.category_size,) * len(inputs.cardinalities)
        return tuple(min(_LARGEST_AUTO, math.isqrt(count - 1) + 1) for count in inputs.cardinalities)


def inputs_of(head: HeadSpec) -> TableInputs:
    """Give what a network is fed; only a task over tables may ask for one."""
    assert head.inputs is not None, f"a head of kind {head.kind} does not say what the network is fed"
    return head.inputs
